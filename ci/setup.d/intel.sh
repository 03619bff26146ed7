# shellcheck shell=bash
# Intel's CPU runtime for OpenCL from PyPI. Sourced by ci/setup.

# Versions that were seen to work together. `intel-opencl-rt` does not name `intel-cmplr-lib-rt` as a dependency, but its
# driver does not load without that package's libraries: the platform is then simply not there.
INTEL_PINNED=(intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0 intel-cmplr-lic-rt==2026.2.0 tbb==2023.2.0 tcmlib==1.6.0)
INTEL_LATEST=(intel-opencl-rt intel-cmplr-lib-rt)

setup_intel() {
    local dir seen
    dir=$(part_dir intel)
    if ! is_stamped "$dir"; then
        has_loader || install_packages "the OpenCL loader" ocl-icd-libopencl1
        make_intel "$dir"
        seen=$(OCL_ICD_VENDORS=$dir/vendors "$(probe_binary)") ||
            die "Intel's runtime is installed in $dir, but does not work: see above (missing libraries: ldd $dir/venv/lib/libintelocl.so)"
        echo "$seen" >"$dir/.stamp"
    fi
    say "intel: $(stamp_text "$dir")"
}

make_intel() {
    local dir=$1
    # Made in place: a virtual environment holds its own path and cannot be moved.
    rm -rf "$dir"
    mkdir -p "$dir/vendors"
    say "installing ${INTEL_PINNED[0]} from PyPI (about 250 MB)"
    make_venv "$dir/venv"
    if ! quietly "$OCLAVE_HOME/logs/intel.log" "$dir/venv/bin/python" -m pip install "${INTEL_PINNED[@]}"; then
        say "the tested versions are not to be had; trying the newest (what follows is untested)"
        quietly "$OCLAVE_HOME/logs/intel.log" "$dir/venv/bin/python" -m pip install "${INTEL_LATEST[@]}" ||
            die "pip could not install ${INTEL_LATEST[*]}: see above"
    fi
    # The .icd files inside the wheel name a path of the machine that they were made on.
    echo "$dir/venv/lib/libintelocl.so" >"$dir/vendors/intel.icd"
}
