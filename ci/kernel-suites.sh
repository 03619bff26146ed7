# shellcheck shell=bash
# Shared by the scripts that run kernels of other people (ci/piglit, ci/real). Sourced after lib.sh, never run.

# run_suite NAME FOLDER DEVICE [WORD…]: builds the programs of a suite and runs them on a device. Prints the totals. The words go
# to `kernel-suites run`: names of programs, --modes, --limit. The rows are in $OCLAVE_HOME/kernel-suites/NAME/DEVICE.tsv.
run_suite() {
    local name=$1 suite=$1=$2 device=$3 home=$OCLAVE_HOME/kernel-suites/$1 word programs=()
    local program=$CARGO_TARGET_DIR/debug/kernel-suites
    shift 3
    for word in "$@"; do [[ $word != *.cl && $word != *.program_test ]] || programs+=("$word"); done
    (cd "$OCLAVE_REPO" && cargo build --quiet -p kernel-suites)
    mkdir -p "$home/images"
    say "building the programs of $name"
    "$program" build "$suite" "$home/images" "${programs[@]}" || say "some programs were not read or written"
    rm -f "$home/$device.tsv"
    say "running $name on $device"
    "$OCLAVE_REPO/ci/on" "$device" "$program" run "$suite" "$home/images" "$home/$device.tsv" "$@"
    "$program" totals "$home/$device.tsv"
}
