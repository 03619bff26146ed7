# shellcheck shell=bash
# Packages of other releases of Debian and Ubuntu, unpacked into a folder of their own ("root"). Sourced by ci/setup and ci/fresh.
#
# This machine's own apt fetches and checks the packages (its mirror, proxies and keys) with a private state; dpkg-deb unpacks
# them. No package script runs, so it needs no root rights and takes half a minute.

DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

needs_unpacking_tools() {
    command -v apt-get dpkg-deb >/dev/null ||
        die "$1 is unpacked from Debian's packages with apt-get and dpkg-deb, which this system lacks: $2"
}

# private_apt STATE: fills APT with an apt-get command that keeps all its state in a folder and knows what private_lists chose.
private_apt() {
    local state=$1
    APT=(apt-get
        -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts="$state/none"
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts="$state/none"
        -o Dir::State="$state/state" -o Dir::State::status="$state/status" -o Dir::Cache="$state/cache"
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o Acquire::Languages=none
        -o Acquire::Retries=3 -o APT::Sandbox::User="$(id -un)" -o APT::Architecture=amd64
        # Some images have hooks that empty the cache of packages after each use.
        -o Dir::Cache::pkgcache="" -o Dir::Cache::srcpkgcache="")
}

# private_lists STATE SUITE: fetches the package lists of a release of Debian, or of one of Ubuntu and its updates.
private_lists() {
    local state=$1 suite=$2 mirror keyring=$DEBIAN_KEYRING options lines
    mirror=$(mirror_of "$suite")
    if [ -z "$mirror" ]; then
        echo "this machine's apt names no Debian mirror: set OCLAVE_DEBIAN_MIRROR to the URI of one"
        return 1
    fi
    lines=("$mirror $suite main")
    case $suite in
    jammy | noble)
        keyring=$(ubuntu_keyring) || return 1
        lines=("$mirror $suite main universe" "$mirror $suite-updates main universe")
        ;;
    *) [ -f "$DEBIAN_KEYRING" ] || install_packages "the keys of Debian's archive" debian-archive-keyring ;;
    esac
    options="arch=amd64 signed-by=$keyring"
    [ "$(mirror_is_trusted "$mirror")" = no ] || options="arch=amd64 trusted=yes"
    mkdir -p "$state/state/lists/partial" "$state/cache/archives/partial" "$state/none"
    : >"$state/status"
    printf "deb [$options] %s\n" "${lines[@]}" >"$state/sources.list"
    private_apt "$state"
    "${APT[@]}" update
}

# The file with the keys of Ubuntu's archive: this machine's, or one from Debian 13's package of them.
ubuntu_keyring() {
    local keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg own state code=0
    own=$OCLAVE_HOME/keyrings/${keyring##*/}
    if [ ! -f "$keyring" ] && [ ! -f "$own" ]; then
        state=$(mktemp -d)
        mkdir -p "${own%/*}"
        {
            fetch_packages "$state" trixie ubuntu-keyring &&
                dpkg-deb -x "$state"/cache/archives/ubuntu-keyring_*.deb "$state/unpacked" &&
                cp "$state/unpacked$keyring" "$own"
        } >&2 || code=$?
        rm -rf "$state"
    fi
    [ -f "$keyring" ] || keyring=$own
    echo "$keyring"
    return "$code"
}

# fetch_packages STATE SUITE PACKAGE…: downloads packages with all that they depend on into STATE/cache/archives.
fetch_packages() {
    local state=$1 suite=$2
    shift 2
    private_lists "$state" "$suite" || return 1
    "${APT[@]}" install -y --no-install-recommends --download-only "$@"
}

# unpack_packages ROOT TAR-OPTION…: unpacks what fetch_packages put into ROOT/.apt.
unpack_packages() {
    local root=$1 deb
    shift
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
            --exclude='./usr/include/*' "$@" || return 1
    done
    cp /etc/passwd /etc/group "$root/etc/"
}
