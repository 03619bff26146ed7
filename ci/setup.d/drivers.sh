# shellcheck shell=bash
# Drivers of other Debian releases, PoCL and Mesa's rusticl, each in a root of its own (roots.sh) that holds the driver, the C
# library and everything between them. Sourced by ci/setup. ci/in-root runs a program inside.

# A shell and the core tools come along, for tests that start programs.
ROOT_PACKAGES=(ocl-icd-libopencl1 base-files dash coreutils)

# setup_driver NAME PACKAGE: the driver of that package.
setup_driver() {
    local name=$1 package=$2 dir suite suites
    dir=$(part_dir "$name")
    case $name in
    pocl3 | oclgrind) suites=(bookworm) ;;
    pocl6 | rusticl25) suites=(trixie) ;;
    # Both move. Testing moves less; unstable is there when testing lacks the package for a while.
    pocl7 | rusticl) suites=(forky sid) ;;
    esac
    if ! is_stamped "$dir"; then
        needs_unpacking_tools "$name" \
            "install your distribution's $package and run the tests with plain cargo instead"
        command -v unshare >/dev/null || die "$name is run with unshare, which this system lacks"
        for suite in "${suites[@]}"; do
            make_root "$name" "$suite" "$dir" "$package" && break
            say "$name: no luck with Debian $suite"
        done
        is_stamped "$dir" || die "$name could not be set up: see above"
    fi
    say "$name: $(stamp_text "$dir")"
}

make_root() {
    local name=$1 suite=$2 dir=$3 package=$4 started=$SECONDS
    # Nothing is ever mounted in a root outside of a private mount namespace, so that removing one is safe.
    rm -rf "$dir" "$dir.new"
    mkdir -p "$dir.new"
    say "$name: fetching $package from Debian $suite (about 100 to 160 MB)"
    quietly "$OCLAVE_HOME/logs/$name.log" fetch_packages "$dir.new/.apt" "$suite" "$package" "${ROOT_PACKAGES[@]}" || return 1
    quietly "$OCLAVE_HOME/logs/$name.log" unpack_packages "$dir.new" || return 1
    if [ "$name" = oclgrind ]; then
        # Its package leaves this out, so that it is no device of programs that do not ask for it.
        mkdir -p "$dir.new/etc/OpenCL/vendors"
        echo /usr/lib/oclgrind/liboclgrind-rt-icd.so >"$dir.new/etc/OpenCL/vendors/oclgrind.icd"
    fi
    local version seen
    version=$(basename "$dir.new"/.apt/cache/archives/"${package}"_*.deb | cut -d_ -f2)
    rm -rf "$dir.new/.apt"
    mv "$dir.new" "$dir"
    seen=$("$OCLAVE_REPO/ci/in-root" "$name" "$(probe_binary)") || return 1
    echo "Debian $suite, $package $version: $seen" >"$dir/.stamp"
    say "$name: made in $((SECONDS - started)) s"
}

# setup_pocl7cb: pocl7 with a library that shows its command buffers, which ci/on preloads.
setup_pocl7cb() {
    local dir source=$OCLAVE_REPO/ci/setup.d/show_command_buffers.c
    dir=$(part_dir pocl7cb)
    is_stamped "$(part_dir pocl7)" || die "pocl7cb is pocl7 with its command buffers shown: run ci/setup pocl7 before"
    command -v cc >/dev/null || install_packages "a C compiler" gcc libc6-dev
    mkdir -p "$dir"
    quietly "$OCLAVE_HOME/logs/pocl7cb.log" cc -shared -fPIC -O1 -Wall -Werror -o "$dir/show.so.new" "$source" -ldl ||
        die "pocl7cb does not build: see above"
    mv "$dir/show.so.new" "$dir/show.so"
    stamp_text "$(part_dir pocl7)" >"$dir/.stamp"
    say "pocl7cb: $(stamp_text "$dir")"
}
