# shellcheck shell=bash
# Compilers that turn kernels into SPIR-V, and the OpenCL loader. Sourced by ci/setup.

# The versions in the order in which they are looked for: as oclave-build does, the newest that was tested first. It refuses 16.
LLVM_VERSIONS=(22 21 20 19 18 17 15)

setup_compilers() {
    command -v cargo >/dev/null || die "cargo is missing: install Rust (1.88 or newer) with rustup"
    command -v cc >/dev/null || install_packages "a C linker for Rust" gcc libc6-dev
    local version
    version=$(installed_llvm)
    if [ -z "$version" ]; then
        command -v apt-get >/dev/null && refresh_package_lists
        version=$(available_llvm)
        [ -n "$version" ] || die "no matching clang and llvm-spirv: install clang-N, llvm-N and llvm-spirv-N with the same N"
        install_packages "a compiler to SPIR-V" "clang-$version" "llvm-$version" "llvm-spirv-$version"
    fi
    command -v jq >/dev/null || install_packages "what reads cargo's output" jq
    command -v spirv-val >/dev/null || install_packages "the SPIR-V validator" spirv-tools
    has_loader || install_packages "the OpenCL loader" ocl-icd-libopencl1
    say "compilers: clang, llvm-link and llvm-spirv $version"
}

# The first version of which all three tools are on the PATH.
installed_llvm() {
    local v
    for v in "${LLVM_VERSIONS[@]}"; do
        if command -v "clang-$v" "llvm-link-$v" "llvm-spirv-$v" >/dev/null &&
            [ "$(command -v "clang-$v" "llvm-link-$v" "llvm-spirv-$v" | wc -l)" -eq 3 ]; then
            echo "$v"
            return
        fi
    done
}

available_llvm() {
    local v
    command -v apt-cache >/dev/null || return 0
    for v in "${LLVM_VERSIONS[@]}"; do
        if has_package "clang-$v" && has_package "llvm-$v" && has_package "llvm-spirv-$v"; then
            echo "$v"
            return
        fi
    done
}

has_loader() {
    local cache
    cache=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null || true)
    [[ $cache == *libOpenCL.so.1* ]]
}
