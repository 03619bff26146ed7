# shellcheck shell=bash
# The probe (ci/setup.d/probe.rs): proves that a driver is really there and works. Sourced by ci/setup.

# Prints the path of the probe, which it builds on first use.
probe_binary() {
    local recipe dir=$OCLAVE_HOME/probe
    recipe=$(recipe_of "$OCLAVE_REPO/ci/setup.d/probe.rs")
    with_lock probe build_probe "$recipe" "$dir"
    echo "$dir/probe-$recipe"
}

build_probe() {
    local recipe=$1 dir=$2
    [ ! -x "$dir/probe-$recipe" ] || return 0
    mkdir -p "$dir"
    quietly "$OCLAVE_HOME/logs/probe.log" rustc --edition 2024 -O -o "$dir/probe-$recipe.new" \
        "$OCLAVE_REPO/ci/setup.d/probe.rs" || die "the probe does not build: see above"
    mv "$dir/probe-$recipe.new" "$dir/probe-$recipe"
}
