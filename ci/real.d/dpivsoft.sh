# shellcheck shell=bash
# The words that Reikna defines before kernels.

# arguments PROJECT SOURCE WORK.
arguments() { printf '%s\n' -DKERNEL=__kernel -DGLOBAL_MEM=__global -DLOCAL_MEM=__local -DCONSTANT_MEM=__constant -DSIZE_T=size_t; }
