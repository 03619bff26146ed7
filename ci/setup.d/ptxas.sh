# shellcheck shell=bash
# NVIDIA's assembler for PTX from PyPI, which needs no GPU, and the library of OpenCL C's built-in functions from the
# distribution. Sourced by ci/setup.

PTXAS_PINNED=nvidia-cuda-nvcc-cu12==12.9.86
# The versions of libclc that have the functions as SPIR-V; the file's place is the same in all.
LIBCLC_VERSIONS=(15 19 18 17)
LIBCLC_FILE=/usr/lib/clc/spirv64-mesa3d-.spv

setup_ptxas() {
    local dir version
    dir=$(part_dir ptxas)
    if ! is_stamped "$dir"; then
        rm -rf "$dir"
        mkdir -p "$dir"
        make_venv "$dir/venv"
        say "installing $PTXAS_PINNED from PyPI (about 40 MB)"
        quietly "$OCLAVE_HOME/logs/ptxas.log" "$dir/venv/bin/python" -m pip install --no-deps --no-compile --target "$dir" \
            "$PTXAS_PINNED" || die "pip could not install $PTXAS_PINNED: see above"
        # The tests need the assembler alone; the rest is a compiler of 60 MB.
        rm -rf "$dir/nvidia/cuda_nvcc/nvvm" "$dir/venv"
        chmod +x "$dir/nvidia/cuda_nvcc/bin/ptxas"
        "$dir/nvidia/cuda_nvcc/bin/ptxas" --version | tail -n2 | head -n1 >"$dir/.stamp" ||
            die "ptxas is installed in $dir, but does not work"
    fi
    if ! [ -f "$LIBCLC_FILE" ]; then
        for version in "${LIBCLC_VERSIONS[@]}"; do
            has_package "libclc-$version" && break
        done
        install_packages "the library of OpenCL C's built-in functions" "libclc-$version"
    fi
    say "ptxas: $(stamp_text "$dir")"
}
