# shellcheck shell=bash
# What is checked by a command: format, lints, docs, examples, promised Rust version. Sourced by ci/test, after ci/suites.sh.

# check NAME COMMAND…: runs it and records one result; a tool that is not installed gives a skip that says so.
check() {
    local name=$1 started=$SECONDS
    shift
    if quietly "$RESULTS/check-$name.log" "$@"; then
        printf 'native\tpass\tchecks\t%s\t\n' "$name" >>"$TEST_RESULTS"
        say "check $name: passed in $((SECONDS - started)) s"
    else
        printf 'native\tfail\tchecks\t%s\tsee %s\n' "$name" "$RESULTS/check-$name.log" >>"$TEST_RESULTS"
        say "check $name: FAILED"
    fi
}

skip_check() {
    printf 'native\tskip\tchecks\t%s\t%s\n' "$1" "$2" >>"$TEST_RESULTS"
    say "check $1: skipped: $2"
}

# unoptimised: options of cargo for packages of ours that the profile `dev` optimises. Lints do without that.
unoptimised() { sed -n 's/^\[\(profile\.dev\.package\.oclave.*\)\]$/--config=\1.opt-level=0/p' "$OCLAVE_REPO/Cargo.toml"; }

# built_kernels: the folder with the kernels of `oclave-tests` that build_suites made.
built_kernels() {
    jq -r --arg package "path+file://$OCLAVE_REPO/tests#" 'select(.reason == "build-script-executed" and (.package_id | startswith($package))) | .out_dir' \
        "$RESULTS/build.json" | tail -n1
}

run_checks() {
    local unoptimised
    if cargo fmt --version >/dev/null 2>&1; then
        check fmt cargo fmt --all --check
    else
        skip_check fmt "rustfmt is not installed"
    fi
    if cargo clippy --version >/dev/null 2>&1; then
        # Cargo builds and runs the build scripts anew for clippy. That of `oclave-tests` copies the kernels that build_suites made.
        mapfile -t unoptimised < <(unoptimised)
        check clippy env OCLAVE_BUILT_KERNELS="$(built_kernels)" cargo clippy --workspace --all-targets "${unoptimised[@]}" -- -D warnings
        # The library as its users build it: without the features that its own tests switch on.
        check clippy-library cargo clippy -p oclave -p oclave-driver --lib --no-default-features "${unoptimised[@]}" -- -D warnings
    else
        skip_check clippy "clippy is not installed"
    fi
    check docs env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
    # The examples in the documentation: cargo runs them, and its end is the result.
    check doc-tests "$OCLAVE_REPO/ci/on" native cargo test --workspace --doc --no-fail-fast
    check msrv "$OCLAVE_REPO/ci/msrv"
    check scripts check_scripts
    check layers "$OCLAVE_REPO/ci/layers"
}

# Every script of ci/ at least parses; shellcheck says more where it is installed.
check_scripts() {
    local script scripts=()
    for script in "$OCLAVE_REPO"/ci/* "$OCLAVE_REPO"/ci/{setup,sources,real}.d/*.sh "$OCLAVE_REPO"/ci/{fresh,gpu,ptx}.d/* "$OCLAVE_REPO"/.ci/run; do
        [ -f "$script" ] || continue
        case $script in
        *.awk | *.jq | *.rs | *.txt) continue ;;
        esac
        bash -n "$script" || return 1
        scripts+=("$script")
    done
    ! command -v shellcheck || shellcheck -x -P "$OCLAVE_REPO/ci" "${scripts[@]}"
}
