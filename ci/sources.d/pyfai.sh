# shellcheck shell=bash
# The macros and sources that silx and pyFAI put before their kernels, with numbers that are not those of a run.

# arguments PROJECT SOURCE WORK.
arguments() {
    local source=$2 silx name
    silx=$(echo "$HOME_OF_SOURCES"/silx/files/usr/lib/python3/dist-packages/silx/resources/opencl)
    # A header for an editor only.
    : >"$3/for_eclipse.h"
    printf '%s\n' "-I$3" "-I$(dirname "$source")" "-I$silx" -DWORKGROUP_SIZE=64 -DBLOCK_SIZE=64 -DNIMAGE=4096 -DON_CPU=0 -DBINS=1000 \
        -DNBINS=1000 -DNLUT=8 -DIMAGE_WIDTH=64 -DIMAGE_DIMS=2 -DFILTER_DIMS=2 -DNROFBINS_MAX=64 -DLUT_SIZE=1000
    for name in kahan.cl doubleword.cl; do [ "$(basename "$source")" = "$name" ] || printf '%s\n' -include "$silx/$name"; done
}
