# shellcheck shell=bash
# PoCL of other Debian releases, each unpacked into a folder of its own ("root"). Sourced by ci/setup.
#
# A root holds PoCL, the C library and everything between them, fetched and checked by this machine's own apt (its mirror,
# proxies and keys) with a private state, and unpacked by dpkg-deb. No package script runs, so it needs no root rights
# and takes half a minute. ci/in-root runs a program inside.

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
        command -v apt-get dpkg-deb unshare >/dev/null ||
            die "$name is unpacked from Debian's packages with apt-get, dpkg-deb and unshare, which this system lacks: \
install your distribution's PoCL (pocl-opencl-icd) and run the tests with OCLAVE_DEVICE=pocl instead"
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
    quietly "$OCLAVE_HOME/logs/$name.log" fetch_packages "$suite" "$dir.new/.apt" || return 1
    quietly "$OCLAVE_HOME/logs/$name.log" unpack_packages "$dir.new" || return 1
    local version seen
    version=$(basename "$dir.new"/.apt/cache/archives/pocl-opencl-icd_*.deb | cut -d_ -f2)
    rm -rf "$dir.new/.apt"
    mv "$dir.new" "$dir"
    seen=$("$OCLAVE_REPO/ci/in-root" "$name" "$(probe_binary)") || return 1
    echo "Debian $suite, pocl-opencl-icd $version: $seen" >"$dir/.stamp"
    say "$name: made in $((SECONDS - started)) s"
}

# Downloads pocl-opencl-icd of a suite with all that it depends on, into STATE/cache/archives.
fetch_packages() {
    local suite=$1 state=$2 mirror options keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    mirror=$(debian_mirror)
    if [ -z "$mirror" ]; then
        echo "this machine's apt names no Debian mirror: set OCLAVE_DEBIAN_MIRROR to the URI of one"
        return 1
    fi
    [ -f "$keyring" ] || install_packages "the keys of Debian's archive" debian-archive-keyring
    options="arch=amd64 signed-by=$keyring"
    [ "$(mirror_is_trusted "$mirror")" = no ] || options="arch=amd64 trusted=yes"
    mkdir -p "$state/state/lists/partial" "$state/cache/archives/partial" "$state/none"
    : >"$state/status"
    echo "deb [$options] $mirror $suite main" >"$state/sources.list"
    local apt=(apt-get
        -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts="$state/none"
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts="$state/none"
        -o Dir::State="$state/state" -o Dir::State::status="$state/status" -o Dir::Cache="$state/cache"
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o Acquire::Languages=none
        -o Acquire::Retries=3 -o APT::Sandbox::User="$(id -un)" -o APT::Architecture=amd64
        # Some images have hooks that empty the cache of packages after each use.
        -o Dir::Cache::pkgcache="" -o Dir::Cache::srcpkgcache="")
    "${apt[@]}" update || return 1
    # A shell and the core tools, for tests that start programs.
    "${apt[@]}" install -y --no-install-recommends --download-only \
        pocl-opencl-icd ocl-icd-libopencl1 base-files dash coreutils
}

unpack_packages() {
    local root=$1 deb
    # Since Debian 12 these are links; packages that still carry /lib would else make them folders.
    mkdir -p "$root"/{usr/bin,usr/sbin,usr/lib,usr/lib64,etc,tmp,proc,sys,dev,var/tmp,root}
    ln -s usr/bin "$root/bin"
    ln -s usr/sbin "$root/sbin"
    ln -s usr/lib "$root/lib"
    ln -s usr/lib64 "$root/lib64"
    for deb in "$root"/.apt/cache/archives/*.deb; do
        # Not dpkg-deb -x: it would replace the links above by the folders of older packages.
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink --no-same-owner \
            --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' \
            --exclude='./usr/include/*' || return 1
    done
    cp /etc/passwd /etc/group "$root/etc/"
}
