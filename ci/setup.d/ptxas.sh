# shellcheck shell=bash
# NVIDIA's assembler for PTX from PyPI, which needs no GPU, and the library of OpenCL C's built-in functions from the
# distribution. Newer ones have it no longer as SPIR-V: there it is unpacked from Debian 13. Sourced by ci/setup.

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
        version=$("$dir/nvidia/cuda_nvcc/bin/ptxas" --version) || die "ptxas is installed in $dir, but does not work"
        tail -n2 <<<"$version" | head -n1 >"$dir/.stamp"
    fi
    [ -f "$LIBCLC_FILE" ] || [ -f "$dir/libclc.spv" ] || setup_libclc "$dir"
    say "ptxas: $(stamp_text "$dir")"
}

setup_libclc() {
    local dir=$1 version what="the library of OpenCL C's built-in functions"
    refresh_package_lists
    for version in "${LIBCLC_VERSIONS[@]}"; do
        if has_package "libclc-$version"; then
            install_packages "$what" "libclc-$version"
            return
        fi
    done
    needs_unpacking_tools "$what" "install libclc-19, or name its file spirv64-mesa3d-.spv in OCLAVE_LIBCLC"
    say "unpacking libclc-19 of Debian trixie ($what)"
    rm -rf "$dir/libclc"
    mkdir -p "$dir/libclc"
    quietly "$OCLAVE_HOME/logs/libclc.log" fetch_packages "$dir/libclc/.apt" trixie libclc-19 &&
        quietly "$OCLAVE_HOME/logs/libclc.log" unpack_packages "$dir/libclc" || die "libclc-19 could not be fetched: see above"
    mv "$dir/libclc$LIBCLC_FILE" "$dir/libclc.spv"
    rm -rf "$dir/libclc"
}
