# shellcheck shell=bash
# Builds test binaries and runs them on the devices. Sourced by ci/test and ci/conformance, after ci/lib.sh.

RESULTS=$CARGO_TARGET_DIR/ci
# A driver that deadlocks must not take the whole run with it.
SUITE_SECONDS=${OCLAVE_SUITE_SECONDS:-900}
TEST_SECONDS=${OCLAVE_TEST_SECONDS:-90}

# build_suites CARGO-ARGUMENT…: builds, and prints "PACKAGE KIND NAME EXECUTABLE FOLDER [PATTERN]" for each suite: a test program, or a
# module of tests/device, as graph::replay, whose tests match the pattern.
build_suites() {
    local package kind name binary folder
    [[ $OCLAVE_REPO$CARGO_TARGET_DIR != *[[:space:]]* ]] ||
        die "tests run in folders without blanks only: move $OCLAVE_REPO, or set CARGO_TARGET_DIR ($CARGO_TARGET_DIR)"
    mkdir -p "$RESULTS"
    cargo test --no-run --message-format=json-render-diagnostics "$@" >"$RESULTS/build.json" </dev/null || return 1
    jq -r --arg repo "$OCLAVE_REPO" 'select(.reason == "compiler-artifact" and .profile.test and .executable)
        | (.manifest_path | rtrimstr("/Cargo.toml")) as $folder
        | (if $folder == $repo then "oclave" else $folder | split("/") | last end) as $package
        | "\($package) \(.target.kind[0]) \(.target.name) \(.executable) \($folder)"' "$RESULTS/build.json" | sort -u |
        while read -r package kind name binary folder; do
            if [ "$package $name" = "tests device" ]; then
                # Tests of a folder's own file are in none of its modules.
                tests_of "$binary" '' | sed -nE "s|^([^:]*)::[^:]*$|\1 $binary $folder ^\1::[^:]*$|p; s|^([^:]*::[^:]*)::.*|\1 $binary $folder ^\1::|p" |
                    sort -u | sed "s|^|$package $kind |"
            else
                echo "$package $kind $name $binary $folder"
            fi
        done
}

# tests_of BINARY PATTERN: the names of its tests that match.
tests_of() { "$1" --list --format terse 2>/dev/null </dev/null | sed -n 's/: test$//p' | grep -E "$2"; }

# run_suite DEVICE LABEL BINARY RESULTS-FILE [PATTERN]: appends one line per test, of those whose name matches, to the
# file (see libtest.jq), with the device in front.
run_suite() {
    local device=$1 label=${2//::/-} binary=$3 out=$4 pattern=${5:-} started=$SECONDS code=0 version log tests=()
    log=$RESULTS/$device-$label.log
    if [ -n "$pattern" ]; then
        mapfile -t tests < <(tests_of "$binary" "$pattern")
        [ "${#tests[@]}" -gt 0 ] || die "no test of $binary matches $pattern"
    fi
    run_tests "$SUITE_SECONDS" "$device" "$binary" ${tests[@]+--exact "${tests[@]}"} >"$log" 2>&1 || code=$?
    if [ "$code" -eq 1 ] && version=$(missing_version "$log"); then
        say "$device $label: skipped, the driver comes with an older C library than this system's: $version is missing"
        printf '%s\tskip\t%s\t(all tests)\tthe C library that the driver comes with is older than this system: %s is missing\n' \
            "$device" "$label" "$version" >>"$out"
        return
    fi
    results_of "$label" "$log" >"$log.tsv"
    if [ "$code" -ne 0 ] && [ "$code" -ne 101 ] || grep -q '(whole suite)' "$log.tsv"; then
        say "$device $label: $(exit_reason "$code" "$SUITE_SECONDS"); running the rest of its tests one by one. The end of its output:"
        tail -n 20 "$log" | cut -c1-300 >&2
        run_tests_alone "$device" "$label" "$binary" "$log" "$code" "$pattern"
    fi
    sed "s/^/$device\t/" "$log.tsv" >>"$out"
    say "$device $label: $(totals_of "$log.tsv") in $((SECONDS - started)) s"
    show_failures "$log.tsv"
}

# missing_version LOG: the version of the C library that a program was linked with here, and that the device's root lacks. Fails
# if the program started.
missing_version() { grep -m1 -oE "version .GLIBC_[0-9.]+. not found" "$1" | grep -oE "GLIBC_[0-9.]+"; }

# run_tests SECONDS DEVICE BINARY ARGUMENT…: the harness reports in JSON, which it does only where unstable options are allowed.
run_tests() {
    local seconds=$1 device=$2
    shift 2
    RUSTC_BOOTSTRAP=1 timeout -k 10 "$seconds" "$OCLAVE_REPO/ci/on" "$device" "$@" \
        -Z unstable-options --format json --show-output --report-time </dev/null
}

results_of() { jq -Rrn --arg suite "$1" -f "$OCLAVE_REPO/ci/libtest.jq" "$2"; }

exit_reason() {
    case $1 in
    124 | 137) echo "killed after $2 s" ;;
    12[89] | 1[3-9][0-9]) echo "crashed (signal $(($1 - 128)))" ;;
    *) echo "ended with code $1" ;;
    esac
}

# After a crash: which test was it? Each that had not ended, in a process of its own; the suite as a whole has failed in any case.
run_tests_alone() {
    local device=$1 label=$2 binary=$3 log=$4 first_code=$5 pattern=$6 name code hung=0
    sed -i '/\t(whole suite)\t/d' "$log.tsv"
    cut -f3 "$log.tsv" >"$log.ended"
    printf 'fail\t%s\t(whole suite)\t%s, see %s\n' "$label" "$(exit_reason "$first_code" "$SUITE_SECONDS")" "$log" >>"$log.tsv"
    while read -r name; do
        code=0
        if [ "$hung" -ge 3 ]; then
            printf 'fail\t%s\t%s\tnot run, three others hung\n' "$label" "$name" >>"$log.tsv"
            continue
        fi
        run_tests "$TEST_SECONDS" "$device" "$binary" --exact "$name" >"$log.one" 2>&1 || code=$?
        cat "$log.one" >>"$log"
        case $code in
        0 | 101) results_of "$label" "$log.one" >>"$log.tsv" ;;
        *)
            [ "$code" -ne 124 ] || hung=$((hung + 1))
            printf 'fail\t%s\t%s\t%s\n' "$label" "$name" "$(exit_reason "$code" "$TEST_SECONDS")" >>"$log.tsv"
            ;;
        esac
    done < <(tests_of "$binary" "$pattern" | grep -vxFf "$log.ended")
    rm -f "$log.one" "$log.ended"
}

# slowest_tests N: the tests of all suites that took longest, a line each: seconds, log of the suite, test.
slowest_tests() {
    { grep -aoE '"name": "[^"]*", "event": "ok", "exec_time": [0-9.]+' "$RESULTS"/*.log || true; } |
        sed -E 's|^.*/([^:/]*)\.log:"name": "([^"]*)".* ([0-9]+)\.[0-9]*$|\3 s  \1 \2|' | sort -rn | sed -n "1,$1p"
}

# totals_of FILE…: "N passed, N failed, N skipped" over result lines, with or without a device in front.
totals_of() {
    awk -F'\t' '{ status = $1 ~ /^(pass|fail|skip)$/ ? $1 : $2; n[status]++ }
        END { printf "%d passed, %d failed, %d skipped\n", n["pass"], n["fail"], n["skip"] }' "$@"
}

show_failures() { awk -F'\t' '$1 == "fail" { printf "    FAILED %s: %s\n", $3, $4 }' "$1" >&2; }
