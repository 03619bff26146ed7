# shellcheck shell=bash
# The distribution's packages. Sourced by ci/setup and ci/fresh.

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

# install_packages WHAT PACKAGE…: installs with apt, or says what a person must install.
install_packages() {
    local what=$1
    shift
    command -v apt-get >/dev/null ||
        die "$what is missing, and this system has no apt: install your distribution's packages for it (on Debian: $*)"
    [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null ||
        die "$what is missing: run 'sudo apt-get install $*' and start again"
    refresh_package_lists
    say "installing $* ($what)"
    quietly "$OCLAVE_HOME/logs/apt.log" as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" ||
        die "apt could not install $*: see above"
}

# Fetches the package lists when there are none, or when they are older than a day.
refresh_package_lists() {
    [ -z "${package_lists_fresh:-}" ] || return 0
    if [ -z "$(find /var/lib/apt/lists -maxdepth 1 -name '*Packages*' -mtime -1 2>/dev/null | head -n1)" ]; then
        say "fetching the package lists"
        quietly "$OCLAVE_HOME/logs/apt-update.log" as_root apt-get update -o DPkg::Lock::Timeout=300 ||
            die "apt-get update failed: see above"
    fi
    package_lists_fresh=1
}

# make_venv DIR: a Python environment with pip in DIR; installs what Python lacks for that.
make_venv() {
    local dir=$1 python=${PYTHON:-python3}
    command -v "$python" >/dev/null || install_packages "Python" python3
    "$python" -c 'import venv, ensurepip' 2>/dev/null || {
        install_packages "Python's venv" python3-venv
        python=/usr/bin/python3
    }
    "$python" -m venv "$dir" || die "cannot make a Python virtual environment in $dir"
}

has_package() { [ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null | head -n1)" ]; }

# The URI of the Debian mirror that this machine's own apt uses, in whatever format it is configured.
debian_mirror() {
    if [ -n "${OCLAVE_DEBIAN_MIRROR:-}" ]; then
        echo "$OCLAVE_DEBIAN_MIRROR"
        return
    fi
    # shellcheck disable=SC2016 # the fields are apt's
    apt-get indextargets --format '$(REPO_URI) $(COMPONENT) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
        awk '$2 == "main" && $3 !~ /-(security|updates|backports|proposed|debug)/ && $1 !~ /ubuntu/ { print $1; exit }'
}

# mirror_of SUITE: the URI of the mirror that has a release of Debian or Ubuntu. Ubuntu's is OCLAVE_UBUNTU_MIRROR, or the one
# beside this machine's mirror of Debian.
mirror_of() {
    local debian
    debian=$(debian_mirror)
    case $1 in
    jammy | noble) echo "${OCLAVE_UBUNTU_MIRROR:-${debian:+${debian%/debian*}/ubuntu}}" ;;
    *) echo "$debian" ;;
    esac
}

# "yes" when this machine's own configuration of a mirror says that it needs no signature.
mirror_is_trusted() {
    local uri=${1%/} file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] || continue
        awk -v uri="$uri" '
            /^[[:space:]]*#/ { next }
            /^[[:space:]]*$/ { if (here && trusted) found = 1; here = trusted = 0; next }
            /^deb / { if (index($0, uri) && tolower($0) ~ /trusted=yes/) found = 1; next }
            tolower($0) ~ /^trusted:[[:space:]]*yes/ { trusted = 1 }
            tolower($0) ~ /^uris:/ && index($0, uri) { here = 1 }
            END { exit !(found || (here && trusted)) }' "$file" && {
            echo yes
            return
        }
    done
    echo no
}
