# shellcheck shell=bash
# hashcat's kernels. There are over a thousand, and many are alike.

# Modules whose self-test crates/kernel-suites/src/real/hashcat.rs has.
HASHCAT_TESTS='m(00000|00100|00900|01000|01300|01400|01700|06000|06100|10800)_a1-pure'

# sources FOLDER: those with a self-test, and every 160th, or every Nth if OCLAVE_REAL_EVERY is N. Each takes long to compile.
sources() {
    find "$1" -name '*.cl' ! -name 'inc_*' -print0 | sort -z |
        awk -v RS='\0' -v ORS='\0' -v every="${OCLAVE_REAL_EVERY:-160}" -v tests="$HASHCAT_TESTS" \
            'NR % every == 1 || every == 1 || $0 ~ tests'
}

# arguments PROJECT SOURCE WORK: as for a device with local memory and vectors of one. The parts of a digest that are looked at
# first are those of the module, if its kernel names them.
arguments() {
    local parts=(0 1 2 3) at
    case $2 in
    *m01700*) parts=(14 15 6 7) ;;
    *m10800*) parts=(6 7 4 5) ;;
    esac
    for at in 0 1 2 3; do printf '%s\n' "-DDGST_R$at=${parts[at]}"; done
    printf '%s\n' "-I$(dirname "$2")" -DKERNEL_STATIC -DINCLUDE_PATH=. '-DXM2S(x)=#x' '-DM2S(x)=XM2S(x)' -DLOCAL_MEM_TYPE=1 \
        -DVENDOR_ID=64 -DDEVICE_TYPE=4 -DVECT_SIZE=1 -DHAS_VPERM=0 -DDGST_ELEM=16 \
        -DKERN_TYPE=0 -DATTACK_EXEC=11 -DATTACK_KERN=0 -D_unroll
}
