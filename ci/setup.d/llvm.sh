# shellcheck shell=bash
# Compilers of other releases of Debian and Ubuntu, each unpacked beside the C library that it needs. Sourced by ci/setup.
#
# ci/llvm N COMMAND… runs a command that builds kernels with one of them. The tools in ROOT/tools start the real ones by the
# root's own dynamic loader, so they work from build scripts, without root rights and without a chroot.

# Releases in which a version is looked for, in this order; the first that has clang, llvm and llvm-spirv of it is taken.
LLVM_SUITES=(trixie forky sid bookworm noble)

# setup_llvm NAME: NAME is llvm and a number, or llvm-newest.
setup_llvm() {
    local name=$1 version dir suite
    if [ "$name" = llvm-newest ]; then
        version=$(newest_llvm)
        [ -n "$version" ] || die "cannot tell the newest LLVM of Debian: see above"
    else
        version=${name#llvm}
    fi
    dir=$(part_dir "llvm$version")
    if ! is_stamped "$dir"; then
        needs_unpacking_tools "llvm$version" "install clang-$version, llvm-$version and llvm-spirv-$version instead"
        for suite in "${LLVM_SUITES[@]}"; do
            make_llvm_root "$version" "$suite" "$dir" && break
            say "llvm$version: not in $suite"
        done
        is_stamped "$dir" || die "none of the releases ${LLVM_SUITES[*]} has clang, llvm and llvm-spirv $version: see above"
    fi
    # Folders that were made before `opt` was needed lack it.
    [ -e "$dir/tools/opt" ] || write_llvm_tools "$version" "$dir"
    say "llvm$version: $(stamp_text "$dir")"
}

# The newest version of which Debian testing or unstable has all three.
newest_llvm() {
    local state suite versions=()
    state=$(mktemp -d)
    for suite in forky sid; do
        quietly "$OCLAVE_HOME/logs/llvm-newest.log" private_lists "$state/$suite" "$suite" || continue
        private_apt "$state/$suite"
        mapfile -t -O "${#versions[@]}" versions < <(
            apt-cache "${APT[@]:1}" search --names-only '^(clang|llvm|llvm-spirv)-[0-9]+$' |
                sed -n 's/^[a-z-]*-\([0-9]*\) .*/\1/p' | sort | uniq -c | awk '$1 == 3 { print $2 }'
        )
    done
    rm -rf "$state"
    [ "${#versions[@]}" -eq 0 ] || printf '%s\n' "${versions[@]}" | sort -n | tail -n1
}

make_llvm_root() {
    local version=$1 suite=$2 dir=$3 started=$SECONDS packaged
    rm -rf "$dir" "$dir.new"
    mkdir -p "$dir.new"
    quietly "$OCLAVE_HOME/logs/llvm$version.log" fetch_packages "$dir.new/.apt" "$suite" \
        "clang-$version" "llvm-$version" "llvm-spirv-$version" 2>/dev/null || return 1
    say "llvm$version: unpacking it from $suite"
    quietly "$OCLAVE_HOME/logs/llvm$version.log" unpack_packages "$dir.new" \
        --exclude='*.a' --exclude='./usr/lib/python3*' --exclude='./usr/share/*' || return 1
    packaged=$(basename "$dir.new/.apt/cache/archives/llvm-spirv-${version}"_*.deb | cut -d_ -f2)
    rm -rf "$dir.new/.apt"
    mv "$dir.new" "$dir"
    write_llvm_tools "$version" "$dir"
    echo 'kernel void probe(global int *x) { *x = 1; }' >"$dir/probe.cl"
    quietly "$OCLAVE_HOME/logs/llvm$version.log" "$dir/tools/clang" -target spir64 -c -emit-llvm \
        "$dir/probe.cl" -o "$dir/probe.bc" || return 1
    quietly "$OCLAVE_HOME/logs/llvm$version.log" "$dir/tools/llvm-spirv" "$dir/probe.bc" -o "$dir/probe.spv" || return 1
    echo "$suite, $("$dir/tools/clang" --version | head -n1), llvm-spirv $packaged" >"$dir/.stamp"
    say "llvm$version: made in $((SECONDS - started)) s"
}

# Writes DIR/tools/NAME, which start the tools of a root by its own loader.
write_llvm_tools() {
    local version=$1 dir=$2 tool real options resources
    resources=$(cd "$dir/usr/lib/llvm-$version"/lib/clang/*/include && cd .. && pwd)
    mkdir -p "$dir/tools"
    for tool in clang opt llvm-link llvm-ar llvm-spirv; do
        real=$dir/usr/lib/llvm-$version/bin/$tool options=''
        [ -e "$real" ] || real=$dir/usr/bin/$tool-$version
        # Clang looks for its headers beside its program, which seems to be the loader.
        [ "$tool" != clang ] || options="-no-canonical-prefixes -resource-dir '$resources'"
        cat >"$dir/tools/$tool" <<TOOL
#!/bin/sh
exec '$dir/usr/lib64/ld-linux-x86-64.so.2' --library-path '$dir/usr/lib/x86_64-linux-gnu:$dir/usr/lib/llvm-$version/lib' \\
    --argv0 "\$0" '$real' $options "\$@"
TOOL
        chmod +x "$dir/tools/$tool"
    done
}
