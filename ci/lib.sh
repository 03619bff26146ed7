# shellcheck shell=bash
# Shared by the scripts of ci/: places, messages, locks, stamps. Sourced, never run.

OCLAVE_REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
OCLAVE_HOME=${OCLAVE_HOME:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/oclave}
case $OCLAVE_HOME in /*) ;; *) OCLAVE_HOME=$PWD/$OCLAVE_HOME ;; esac
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$OCLAVE_REPO/target}
case $CARGO_TARGET_DIR in /*) ;; *) CARGO_TARGET_DIR=$PWD/$CARGO_TARGET_DIR ;; esac
export OCLAVE_HOME CARGO_TARGET_DIR

# The devices that take SPIR-V, in the order of the reports.
# shellcheck disable=SC2034 # read by the scripts that source this file
DEVICES=(intel pocl6 pocl7)

say() { printf '[oclave %3ds] %s\n' "$SECONDS" "$*" >&2; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Runs a command with its output in a log; shows the end of the log only when it fails.
quietly() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        printf -- '--- last lines of %s\n' "$log" >&2
        tail -n 25 "$log" >&2
        return 1
    fi
}

# Each part of the setup ends by writing a stamp; a half-made part has none and is made again. The recipe is the text of
# the script that makes it, so that a change of the script makes it again too.
recipe_of() { cat "$@" | sha256sum | cut -c1-16; }
is_stamped() { [ -f "$1/.stamp" ] && [ "$(head -n1 "$1/.stamp")" = "$2" ]; }
# The lines after the recipe say what was got (a version); shown by the setup.
stamp_text() { sed -n '2,$p' "$1/.stamp"; }

# with_lock NAME CMD…: one at a time among all processes that share $OCLAVE_HOME.
with_lock() {
    local lock=$OCLAVE_HOME/$1.lock
    shift
    mkdir -p "$OCLAVE_HOME"
    (
        flock -n 9 || {
            say "waiting for another setup to finish ($(basename "$lock"))"
            flock 9
        }
        "$@"
    ) 9>"$lock"
}
