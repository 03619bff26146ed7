# shellcheck shell=bash
# hashcat's kernels. There are over a thousand, and many are alike.

# sources FOLDER: every 160th, or every Nth if OCLAVE_REAL_EVERY is N. Each takes long to compile.
sources() {
    find "$1" -name '*.cl' ! -name 'inc_*' -print0 | sort -z |
        awk -v RS='\0' -v ORS='\0' -v every="${OCLAVE_REAL_EVERY:-160}" 'NR % every == 1 || every == 1'
}

# arguments PROJECT SOURCE WORK: as for a device with local memory and vectors of one.
arguments() {
    printf '%s\n' "-I$(dirname "$2")" -DKERNEL_STATIC -DINCLUDE_PATH=. '-DXM2S(x)=#x' '-DM2S(x)=XM2S(x)' -DLOCAL_MEM_TYPE=1 \
        -DVENDOR_ID=64 -DDEVICE_TYPE=4 -DVECT_SIZE=1 -DHAS_VPERM=0 -DDGST_R0=0 -DDGST_R1=1 -DDGST_R2=2 -DDGST_R3=3 -DDGST_ELEM=8 \
        -DKERN_TYPE=0 -DATTACK_EXEC=11 -DATTACK_KERN=0 -D_unroll
}
