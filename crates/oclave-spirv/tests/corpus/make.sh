#!/bin/sh
# Compiles the corpus: ./make.sh [LLVM version]. The .spv files are checked in; run this only to add to them.
set -eu
cd "$(dirname "$0")"
v=${1:-15}
flags='-target spir64 -emit-llvm -c -Xclang -finclude-default-header -fno-vectorize -fno-slp-vectorize -mllvm -vectorize-slp=false'
one() { # NAME SOURCE OPT EXTRA-CLANG EXTRA-TRANSLATOR
    clang-$v $flags $4 "$3" "$2" -o "$1.bc" && llvm-spirv-$v $5 "$1.bc" -o "$1.spv" || echo "left out: $1"
    rm -f "$1.bc"
}
for source in *.cl; do
    for opt in O0 O2; do one "${source%.cl}.$opt" "$source" "-$opt" -cl-std=CL3.0 ''; done
done
for opt in O1 O3; do one "control.$opt" control.cl "-$opt" -cl-std=CL3.0 ''; done
one saxpy.names saxpy.cl -O2 '-cl-std=CL3.0 -cl-kernel-arg-info' --preserve-ocl-kernel-arg-type-metadata-through-string
one saxpy.debug saxpy.cl -O0 "-cl-std=CL3.0 -g -fdebug-compilation-dir=. -fdebug-prefix-map=/usr/lib/llvm-$v=llvm" ''
one control.debug control.cl -O2 "-cl-std=CL3.0 -g -fdebug-compilation-dir=. -fdebug-prefix-map=/usr/lib/llvm-$v=llvm" ''
one saxpy.physical32 saxpy.cl -O2 '-cl-std=CL3.0 -target spir' ''
for opt in O0 O2; do
    one "classes.$opt" classes.clcpp "-$opt" '-x clcpp -cl-std=CLC++2021 -Xclang -fno-rtti' ''
    one "virtual.$opt" virtual.clcpp "-$opt" '-x clcpp -cl-std=CLC++2021 -Xclang -fno-rtti -fno-threadsafe-statics -fno-exceptions -fno-strict-aliasing' --spirv-ext=+SPV_INTEL_function_pointers
done
