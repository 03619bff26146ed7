# shellcheck shell=bash
# Sets the test devices up and says which are there. Sourced after ci/lib.sh.

# set_up_devices DEVICE…: fills READY with those that can be used, and MISSING with "device=reason" of the others.
#
# Only pocl7 and rusticl may be missing: Debian testing and unstable move, and what happens there must not stop all other work.
# So where one cannot be had, or is a version that nobody looked at yet, the run says so aloud and counts it as a skip. That
# intel or pocl6 cannot be set up is an error.
KNOWN_POCL7='pocl-opencl-icd 7.1'
KNOWN_RUSTICL='mesa-opencl-icd 26.1'

set_up_devices() {
    local device known
    READY=() MISSING=()
    for device in "$@"; do
        known=''
        case $device in
        pocl7) known=$KNOWN_POCL7 ;;
        rusticl) known=$KNOWN_RUSTICL ;;
        esac
        if "$OCLAVE_REPO/ci/setup" "$device"; then
            if [ -n "$known" ] && ! grep -q "${known}[-.+~]" "$(part_dir "$device")/.stamp" &&
                [ -z "${OCLAVE_UNKNOWN_DRIVERS:-}" ]; then
                say "WARNING: Debian now has another driver than $known; going on without $device (OCLAVE_UNKNOWN_DRIVERS=1 uses it)"
                MISSING+=("$device=Debian's driver is no longer $known and is not tested yet")
            else
                READY+=("$device")
            fi
        elif [ -n "$known" ]; then
            say "WARNING: $device cannot be set up (it comes from a moving Debian release); going on without it"
            MISSING+=("$device=the driver could not be set up from Debian testing or unstable")
        else
            die "the device $device cannot be set up: see above"
        fi
    done
}

# masked_runs DEVICE: the masks of OCLAVE_MASK that the conformance tests also run with on a device, of ci/masks.txt.
masked_runs() { awk -v device="$1" '!/^#/ && $1 == device { print $2 }' "$OCLAVE_REPO/ci/masks.txt"; }
