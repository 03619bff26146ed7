# shellcheck shell=bash
# Sets the test devices up and says which are there. Sourced after ci/lib.sh.

# set_up_devices DEVICE…: fills READY with those that can be used, and MISSING with "device=reason" of the others.
#
# Only pocl7 may be missing: Debian testing and unstable move, and what happens there must not stop all other work. So where it
# cannot be had, or is a version that nobody looked at yet, the run says so aloud and counts it as a skip. That intel or
# pocl6 cannot be set up is an error.
KNOWN_POCL7=7.1

set_up_devices() {
    local device
    READY=() MISSING=()
    for device in "$@"; do
        if "$OCLAVE_REPO/ci/setup" "$device"; then
            if [ "$device" = pocl7 ] && ! grep -q "pocl-opencl-icd ${KNOWN_POCL7}[-.+~]" "$(part_dir pocl7)/.stamp" &&
                [ -z "${OCLAVE_UNKNOWN_POCL:-}" ]; then
                say "WARNING: Debian now has another PoCL than $KNOWN_POCL7; going on without it (OCLAVE_UNKNOWN_POCL=1 uses it)"
                MISSING+=("pocl7=Debian's PoCL is no longer $KNOWN_POCL7 and is not tested yet")
            else
                READY+=("$device")
            fi
        elif [ "$device" = pocl7 ]; then
            say "WARNING: pocl7 cannot be set up (it comes from a moving Debian release); going on without it"
            MISSING+=("pocl7=PoCL 7 could not be set up from Debian testing or unstable")
        else
            die "the device $device cannot be set up: see above"
        fi
    done
}
