# shellcheck shell=bash
# PoCL of other Debian releases, each in a root of its own (roots.sh) that holds PoCL, the C library and everything between
# them. Sourced by ci/setup. ci/in-root runs a program inside.

# A shell and the core tools come along, for tests that start programs.
POCL_PACKAGES=(pocl-opencl-icd ocl-icd-libopencl1 base-files dash coreutils)

setup_pocl() {
    local name=$1 dir suite suites
    dir=$(part_dir "$name")
    case $name in
    pocl3) suites=(bookworm) ;;
    pocl6) suites=(trixie) ;;
    # Both move. Testing moves less; unstable is there when testing lacks the package for a while.
    pocl7) suites=(forky sid) ;;
    esac
    if ! is_stamped "$dir"; then
        needs_unpacking_tools "$name" \
            "install your distribution's PoCL (pocl-opencl-icd) and run the tests with OCLAVE_DEVICE=pocl instead"
        command -v unshare >/dev/null || die "$name is run with unshare, which this system lacks"
        for suite in "${suites[@]}"; do
            make_root "$name" "$suite" "$dir" && break
            say "$name: no luck with Debian $suite"
        done
        is_stamped "$dir" || die "$name could not be set up: see above"
    fi
    say "$name: $(stamp_text "$dir")"
}

make_root() {
    local name=$1 suite=$2 dir=$3 started=$SECONDS
    # Nothing is ever mounted in a root outside of a private mount namespace, so that removing one is safe.
    rm -rf "$dir" "$dir.new"
    mkdir -p "$dir.new"
    say "$name: fetching PoCL from Debian $suite (about 100 to 160 MB)"
    quietly "$OCLAVE_HOME/logs/$name.log" fetch_packages "$dir.new/.apt" "$suite" "${POCL_PACKAGES[@]}" || return 1
    quietly "$OCLAVE_HOME/logs/$name.log" unpack_packages "$dir.new" || return 1
    local version seen
    version=$(basename "$dir.new"/.apt/cache/archives/pocl-opencl-icd_*.deb | cut -d_ -f2)
    rm -rf "$dir.new/.apt"
    mv "$dir.new" "$dir"
    seen=$("$OCLAVE_REPO/ci/in-root" "$name" "$(probe_binary)") || return 1
    echo "Debian $suite, pocl-opencl-icd $version: $seen" >"$dir/.stamp"
    say "$name: made in $((SECONDS - started)) s"
}
