# shellcheck shell=bash
# Runs kernels that other people wrote (crates/kernel-suites). Sourced by ci/classics, ci/faults, ci/faults-off, ci/piglit, ci/real and
# ci/test, after ci/lib.sh.

KERNEL_SUITES=$CARGO_TARGET_DIR/kernel-suites
EXCEPTIONS=$OCLAVE_REPO/ci/exceptions
# The suite of kernels that show faults of drivers.
FAULT_KERNELS=piglit=$OCLAVE_REPO/crates/oclave-faults/kernels

# build_kernel_suites: builds the program that runs them.
build_kernel_suites() { (cd "$OCLAVE_REPO" && cargo build --quiet -p kernel-suites); }

# build_images NAME SUITE OPTION…: compiles the programs of a suite with the LLVM of the environment.
build_images() {
    local name=$1 suite=$2
    shift 2
    mkdir -p "$KERNEL_SUITES/$name"
    "$CARGO_TARGET_DIR/debug/kernel-suites" build "$suite" "$KERNEL_SUITES/$name" "$@" >&2
}

# run_kernel_suite NAME SUITE DEVICE OPTION…: runs a suite on a device, and adds rows to $KERNEL_SUITES/NAME-DEVICE.tsv.
run_kernel_suite() {
    local name=$1 suite=$2 device=$3
    shift 3
    "$OCLAVE_REPO/ci/on" "$device" "$CARGO_TARGET_DIR/debug/kernel-suites" run "$suite" "$KERNEL_SUITES/$name" \
        "$KERNEL_SUITES/$name-$device.tsv" "$@" </dev/null
}

# kernel_suite_findings NAME SUITE FILE…: asks Oclgrind about all cases that are worse than the driver's own compiler, and adds
# its rows to $KERNEL_SUITES/NAME-oclgrind.tsv. Where it finds a wrong access, an uninitialized value or a race, no result is right.
kernel_suite_findings() {
    local name=$1 suite=$2
    shift 2
    rm -f "$KERNEL_SUITES/$name-oclgrind.tsv"
    "$OCLAVE_REPO/ci/setup" oclgrind &&
        "$OCLAVE_REPO/ci/on" oclgrind "$CARGO_TARGET_DIR/debug/kernel-suites" check "$suite" "$KERNEL_SUITES/$name" \
            "$KERNEL_SUITES/$name-oclgrind.tsv" "$@" </dev/null
}

# kernel_suite_totals NAME FILE…: counts rows. Fails if one is worse than the driver's own compiler, unless ci/exceptions/NAME
# names it with a reason.
kernel_suite_totals() {
    local exceptions=$EXCEPTIONS/$1
    shift
    "$CARGO_TARGET_DIR/debug/kernel-suites" totals --exceptions "$exceptions" "$@"
}

# kernel_suite_results NAME FILE…: the rows of oclave as ci/test counts them, without the device: status, suite, case, reason.
kernel_suite_results() {
    local name=$1
    shift
    "$CARGO_TARGET_DIR/debug/kernel-suites" results "$name" --exceptions "$EXCEPTIONS/$name" "$@"
}

# kernel_suite NAME SUITE WORD…: builds, runs on all devices or those that the words begin with, and counts. The other words are
# options of kernel-suites.
kernel_suite() {
    local name=$1 suite=$2 device devices=() files=()
    shift 2
    local options=() word
    for word in "$@"; do
        if [[ " ${DEVICES[*]} " == *" $word "* ]]; then devices+=("$word"); else options+=("$word"); fi
    done
    set -- "${options[@]}"
    [ "${#devices[@]}" -gt 0 ] || devices=("${DEVICES[@]}")
    "$OCLAVE_REPO/ci/setup" compilers "${devices[@]}"
    build_kernel_suites
    build_images "$name" "$suite"
    for device in "${devices[@]}"; do
        say "$name on $device"
        rm -f "$KERNEL_SUITES/$name-$device.tsv"
        run_kernel_suite "$name" "$suite" "$device" "$@"
        files+=("$KERNEL_SUITES/$name-$device.tsv")
    done
    if [[ $suite == real=* ]]; then
        say "asking Oclgrind about what differs"
        if kernel_suite_findings "$name" "$suite" "${files[@]}"; then
            files+=("$KERNEL_SUITES/$name-oclgrind.tsv")
        else
            say "WARNING: Oclgrind does not run; kernels without a defined result count as worse"
        fi
    fi
    kernel_suite_totals "$name" "${files[@]}"
}
