# shellcheck shell=bash
# Monte Carlo eXtreme's kernel, for a medium of labels.

# arguments PROJECT SOURCE WORK.
arguments() {
    printf '%s\n' -DMCX_SRC_PENCIL -DMED_TYPE=4 -DMCX_SAVE_DETECTORS -DMCX_DO_REFLECTION -DUSE_ATOMIC -DMCX_GPU_DEBUG=0
}
