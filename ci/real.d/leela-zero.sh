# shellcheck shell=bash
# Leela Zero's kernels, in single precision, for boards of 19 by 19.

# preludes FOLDER SOURCE: its copy of CLBlast's matrix product is in two literals.
preludes() {
    echo
    grep -l 'define ROUTINE_GEMMBATCHED' "$1"/literals/*.cl
}

# arguments PROJECT SOURCE WORK.
arguments() {
    printf '%s\n' -DPRECISION=32 -Dnet_t=float '-Dvload_net_t(offset,p)=((p)[(offset)])' \
        '-Dvstore_net_t(data,offset,p)=(((p)[(offset)])=(data))' -DBOARD_SIZE=19 -DNUM_INTERSECTIONS=361 -DWINOGRAD_M=4 \
        -DWINOGRAD_ALPHA=6 -DWTILES=5 -DWINOGRAD_TILE=36 -DSQ2=1.4142135f
    # The matrix product defines the type itself.
    ! grep -q net_t "$2" || printf '%s\n' -Dreal=float
}
