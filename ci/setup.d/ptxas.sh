# shellcheck shell=bash
# NVIDIA's assembler for PTX from PyPI, which needs no GPU, and the library of OpenCL C's built-in functions from the
# distribution. Sourced by ci/setup.

PTXAS_PINNED=nvidia-cuda-nvcc-cu12==12.9.86
LIBCLC_PACKAGE=libclc-15
LIBCLC_FILE=/usr/lib/clc/spirv64-mesa3d-.spv

setup_ptxas() {
    local dir python=${PYTHON:-python3}
    dir=$(part_dir ptxas)
    if ! is_stamped "$dir"; then
        command -v "$python" >/dev/null || install_packages "Python" python3 python3-pip
        rm -rf "$dir"
        mkdir -p "$dir"
        say "installing $PTXAS_PINNED from PyPI (about 40 MB)"
        quietly "$OCLAVE_HOME/logs/ptxas.log" "$python" -m pip install --no-deps --no-compile --target "$dir" "$PTXAS_PINNED" ||
            die "pip could not install $PTXAS_PINNED: see above"
        # The tests need the assembler alone; the rest is a compiler of 60 MB.
        rm -rf "$dir/nvidia/cuda_nvcc/nvvm"
        chmod +x "$dir/nvidia/cuda_nvcc/bin/ptxas"
        "$dir/nvidia/cuda_nvcc/bin/ptxas" --version | tail -n2 | head -n1 >"$dir/.stamp" ||
            die "ptxas is installed in $dir, but does not work"
    fi
    if ! [ -f "$LIBCLC_FILE" ]; then
        install_packages "the library of OpenCL C's built-in functions" "$LIBCLC_PACKAGE"
    fi
    say "ptxas: $(stamp_text "$dir")"
}
