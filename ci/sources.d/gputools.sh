# shellcheck shell=bash
# The types that gputools gives its kernels, and the headers of PyOpenCL.

# arguments PROJECT SOURCE WORK.
arguments() {
    printf '%s\n' "-I$(dirname "$2")" "-I$HOME_OF_SOURCES/pyopencl/files/usr/lib/python3/dist-packages/pyopencl/cl" \
        -DDTYPE=float -DTYPENAME=float -DREAD_IMAGE=read_imagef
}
