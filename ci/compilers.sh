# shellcheck shell=bash
# Tests with compilers of other Debian releases. Sourced by ci/test, after ci/suites.sh.
#
# All tests run with the default compiler. Each run also takes one of two others, and a part of the tests, by the number of
# commits (RUN_NUMBER). LLVM 19 takes even numbers, the newest takes odd ones. Half the number, rounded down, modulo five
# selects the part: three of the tests of oclave-build, the conformance tests, and some of the classics. So ten commits in a row
# cover everything. The conformance tests run on Intel; those of LLVM 19 on PoCL, too. The classics run on every device. OCLAVE_TEST_COMPILERS="llvm19 llvm-newest" runs all parts
# with each of these.
COMPILER_TESTS=('^(virtual_functions|optimised)$' '^program$' '^shared$' conformance classics)
# Classics whose code the optimisers of different versions write in different ways: barriers, rotations, loops that fill memory.
COMPILER_CLASSICS='^(barrier_|reduce_|scan_|rotations|byte_swaps|overflow|fills|calls)'

# plan_other_compilers: sets the compilers up, fills OTHER_PARTS with "VERSION PART" lines, and says in the variable OTHER_COMPILERS
# what they are.
plan_other_compilers() {
    local compilers=(llvm19 llvm-newest) parts=("${COMPILER_TESTS[@]}") compiler part version
    OTHER_PARTS='' OTHER_COMPILERS=''
    if [ -n "${OCLAVE_TEST_COMPILERS:-}" ]; then
        read -ra compilers <<<"$OCLAVE_TEST_COMPILERS"
    else
        compilers=("${compilers[RUN_NUMBER % 2]}")
        parts=("${parts[RUN_NUMBER / 2 % 5]}")
    fi
    for compiler in "${compilers[@]}"; do
        if ! version=$(version_of_llvm "$compiler"); then
            say "WARNING: $compiler cannot be set up; going on without it"
            printf 'native\tskip\t(%s)\t(all tests)\t%s could not be set up\n' "$compiler" "$compiler" >>"$TEST_RESULTS"
            OTHER_COMPILERS+="; $compiler could not be set up"
            continue
        fi
        for part in "${parts[@]}"; do
            OTHER_PARTS+="$version $part"$'\n'
            case $part in
            conformance) OTHER_COMPILERS+="; LLVM $version for the conformance tests" ;;
            classics) OTHER_COMPILERS+="; LLVM $version for classics that match $COMPILER_CLASSICS" ;;
            *) OTHER_COMPILERS+="; LLVM $version for those of oclave-build that match $part" ;;
            esac
        done
    done
}

# run_other_compilers SUITES RESULTS-FILE: all parts but the conformance tests. SUITES is what build_suites printed.
run_other_compilers() {
    local suites=$1 out=$2 version part
    while read -r version part; do
        case $part in
        conformance | '') ;;
        classics) (use_llvm "$version" && test_classics "$version" "$out") ;;
        *) (use_llvm "$version" && test_part "$version" "$part" "$suites" "$out") ;;
        esac
    done <<<"$OTHER_PARTS"
    touch "$out" "$out.complete"
}

# run_conformance_of_other_compilers: builds the kernels and the conformance tests anew, so nothing else may run beside it.
run_conformance_of_other_compilers() {
    local version part
    while read -r version part; do
        [ "$part" != conformance ] || (use_llvm "$version" && test_conformance "$version")
    done <<<"$OTHER_PARTS"
}

# Sets a compiler up, and prints its version. The newest is looked for only where there is none yet.
version_of_llvm() {
    local version=${1#llvm}
    if [ "$version" = -newest ]; then
        version=$(newest_llvm)
        [ -n "$version" ] || { "$OCLAVE_REPO/ci/setup" llvm-newest >&2 && version=$(newest_llvm); }
    else
        "$OCLAVE_REPO/ci/setup" "llvm$version" >&2 || return 1
    fi
    [ -n "$version" ] && echo "$version"
}

# test_part VERSION PATTERN SUITES RESULTS-FILE
test_part() {
    local version=$1 part=$2 out=$4 package kind name binary folder
    while read -r package kind name binary folder; do
        [[ $package == oclave-build && $name =~ $part ]] || continue
        (cd "$folder" && CARGO_MANIFEST_DIR=$folder run_suite native "llvm$version-$kind-$name" "$binary" "$out")
    done <<<"$3"
}

# test_conformance VERSION
test_conformance() {
    local version=$1 device name binary devices=(intel)
    [ "$version" != 19 ] || devices+=(pocl6 pocl7)
    say "building the conformance tests with LLVM $version"
    if ! read -r _ _ name binary _ < <(build_suites -p oclave-tests --test conformance | grep ' test conformance '); then
        printf 'native\tfail\tllvm%s\t(conformance)\tthe tests do not build\n' "$version" >>"$TEST_RESULTS"
        return
    fi
    for device in "${devices[@]}"; do
        [[ " ${READY[*]} " == *" $device "* ]] || continue
        run_suite "$device" "llvm$version-test-$name" "$binary" "$TEST_RESULTS"
    done
}

# test_classics VERSION RESULTS-FILE
test_classics() {
    local version=$1 out=$2 device name programs
    name=classics-llvm$version
    mapfile -t programs < <(cd "$OCLAVE_REPO/kernels/classics" && basename -s .cl -- *.cl | grep -E "$COMPILER_CLASSICS")
    build_images "$name" classics "${programs[@]}"
    for device in "${READY[@]}"; do
        rm -f "$KERNEL_SUITES/$name-$device.tsv"
        run_kernel_suite "$name" classics "$device" --modes launch "${programs[@]}"
        kernel_suite_results classics "$KERNEL_SUITES/$name-$device.tsv" | sed "s/^/$device\t/; s/\tclassics-/\tllvm$version-classics-/" \
            >>"$out"
    done
}
