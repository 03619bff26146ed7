# shellcheck shell=bash
# Leela Zero's kernels, in single precision, for boards of 19 by 19.

# preludes FOLDER SOURCE: the literal with the types.
preludes() { grep -l 'typedef half net_t' "$1"/literals/*.cl; }

# arguments PROJECT SOURCE WORK.
arguments() {
    printf '%s\n' -DPRECISION=32 -DBOARD_SIZE=19 -DNUM_INTERSECTIONS=361 -DWINOGRAD_M=4 -DWINOGRAD_ALPHA=6 -DWTILES=5 -DWINOGRAD_TILE=36
}
