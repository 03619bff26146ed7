# shellcheck shell=bash
# CLBlast's kernels, which its library puts together from several literals.

# preludes FOLDER SOURCE: the literal with the types, alone or with the parts of matrix products that some kernels need.
preludes() {
    local types copies body
    types=$(grep -l 'define INLINE_FUNC' "$1"/literals/*.cl | head -n 1)
    copies=$(grep -l 'void GlobalToLocalA(' "$1"/literals/*.cl | head -n 1)
    body=$(grep -l 'void XgemmBody(' "$1"/literals/*.cl | head -n 1)
    printf '%s\n' "$types" "$types $copies" "$types $copies $body"
}

# arguments PROJECT SOURCE WORK: single precision, and all routines that have kernels of their own.
arguments() { printf '%s\n' -DPRECISION=32 -DROUTINE_GEMMBATCHED -DROUTINE_GEMMSTRIDEDBATCHED -DROUTINE_INVERT -DROUTINE_TRSV -DROUTINE_CONVGEMM; }
