# shellcheck shell=bash
# The macros by which OpenCV adapts its kernels to types and sizes. One set serves all: floats of one channel, windows of three.

# arguments PROJECT SOURCE WORK.
arguments() {
    # As many as the largest window has, since kernels with larger windows than three read more.
    local name digits='DIG(0.25f)DIG(0.5f)DIG(0.25f)DIG(0.5f)DIG(1.0f)DIG(0.5f)DIG(0.25f)DIG(0.5f)DIG(0.25f)'
    for name in T T1 ST ST1 DT DT1 WT WT1 CT FT srcT srcT1 dstT dstT1 sumT sumT1 sqsumT sumSQT sqT SRCTYPE DSTTYPE convertT workT \
        srcTM dstTM dstTK srcTK srcT1M U rowT; do
        printf '%s\n' "-D$name=float"
    done
    for name in convertToWT convertToDT convertToT convertToFT convertToDstT convertToWT1 convertToWT2 convertToST convertToU convertToFT1 \
        convertFromU PX_LOAD_FLOAT_VEC_CONV INTERMEDIATE_CONV CONVERT CONVERT_TO_DST; do
        printf '%s\n' "-D$name=convert_float"
    done
    for name in cn scn dcn kercn PIX_PER_WI_X PIX_PER_WI_Y PX_PER_WI_X PX_PER_WI_Y rowsPerWI NUM_ITER ANCHOR_X ANCHOR_Y RADIUSX RADIUSY anX anY; do
        printf '%s\n' "-D$name=1"
    done
    for name in KERNEL_SIZE_X KERNEL_SIZE_Y KSIZE ksX ksY KSIZE_X KSIZE_Y; do printf '%s\n' "-D$name=3"; done
    for name in LSIZE0 LSIZE1 BLK_X BLK_Y LOCAL_SIZE_X LOCAL_SIZE_Y STRIDE_SIZE; do printf '%s\n' "-D$name=8"; done
    for name in KERNEL_MATRIX_X KERNEL_MATRIX_Y KERNEL_MATRIX COEFF; do printf '%s\n' "-D$name=$digits"; done
    printf '%s\n' -DPX_LOAD_VEC_SIZE= -DPX_LOAD_FLOAT_VEC_SIZE= -DVAL=1 -DBINS=256 -DHISTS_COUNT=4 -DWGS=32 -DLSIZE=32 -DLOCAL_SIZE=32 \
        -DTILE_SIZE=32 -Dradius=2 -DRADIUS=1 -Ddepth=5 -Dbidx=0 -DSCALE=1 -Dscale=1 -Dnimages=1 -DACCUMULATE -DDEPTH_5 -DTHRESH_BINARY \
        -DINTER_LINEAR -DBORDER_REPLICATE -DBORDER_CONSTANT -DEXTRA_EXTRAPOLATION -DOP_ERODE -DROW_OP -DOP_ADD -DBINARY_OP -DUNARY_OP \
        -DDEPTH_dst=5 -DPROCESS_ELEMS= -DPROCESS_ELEM_=
}
