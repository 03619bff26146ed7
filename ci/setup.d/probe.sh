# shellcheck shell=bash
# The probe (ci/setup.d/probe.rs): proves that a driver is really there and works. Sourced by ci/setup.

# Prints the path of the probe, which it builds on first use.
probe_binary() {
    local source=$OCLAVE_REPO/ci/setup.d/probe.rs binary
    binary=$OCLAVE_HOME/probe/probe-$(sha256sum "$source" | cut -c1-12)
    with_lock probe build_probe "$source" "$binary"
    echo "$binary"
}

build_probe() {
    local source=$1 binary=$2
    [ ! -x "$binary" ] || return 0
    mkdir -p "$(dirname "$binary")"
    quietly "$OCLAVE_HOME/logs/probe.log" rustc --edition 2024 -O -o "$binary.new" "$source" ||
        die "the probe does not build: see above"
    mv "$binary.new" "$binary"
}
