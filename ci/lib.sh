# shellcheck shell=bash
# Shared by the scripts of ci/: places, messages, locks, stamps. Sourced, never run.

OCLAVE_REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
OCLAVE_HOME=${OCLAVE_HOME:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/oclave}
case $OCLAVE_HOME in /*) ;; *) OCLAVE_HOME=$PWD/$OCLAVE_HOME ;; esac
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$OCLAVE_REPO/target}
case $CARGO_TARGET_DIR in /*) ;; *) CARGO_TARGET_DIR=$PWD/$CARGO_TARGET_DIR ;; esac
export OCLAVE_HOME CARGO_TARGET_DIR
# Nobody steps through a CI build or builds it again after a change. Its test programs take 3 GB without line tables, 8 with.
if [ "${CI:-}" = true ]; then
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=${CARGO_PROFILE_DEV_DEBUG:-none}
fi

# The devices that take SPIR-V, in the order of the reports.
# shellcheck disable=SC2034 # read by the scripts that source this file
DEVICES=(intel pocl6 pocl7 rusticl)

say() { printf '[oclave %3ds] %s\n' "$SECONDS" "$*" >&2; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Runs a command with its output in a log; shows the end of the log only when it fails.
quietly() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        printf -- '--- last lines of %s\n' "$log" >&2
        tail -n 25 "$log" >&2
        return 1
    fi
}

# Where a part of the setup lives. Raise its number when the way it is made changes: checkouts of different age then share
# $OCLAVE_HOME without breaking each other's parts.
part_dir() {
    case $1 in
    intel) echo "$OCLAVE_HOME/intel-1" ;;
    pocl* | rusticl* | llvm* | oclgrind) echo "$OCLAVE_HOME/$1-1" ;;
    ptxas) echo "$OCLAVE_HOME/ptxas-1" ;;
    *) die "there is no part '$1'" ;;
    esac
}

# The library of built-in functions that ci/setup ptxas unpacked where the distribution has none as SPIR-V. Call it again
# after that.
use_unpacked_libclc() {
    local file
    file=$(part_dir ptxas)/libclc.spv
    [ ! -f "$file" ] || export OCLAVE_LIBCLC=${OCLAVE_LIBCLC:-$file}
}
use_unpacked_libclc

# promised_rust: the oldest version of Rust that the project promises to build with.
promised_rust() { sed -n 's/^rust-version = "\(.*\)"/\1/p' "$OCLAVE_REPO/Cargo.toml" | head -n1; }

# The stamp is written last, so that what was interrupted has none and is made again. It says what was got.
is_stamped() { [ -f "$1/.stamp" ]; }
stamp_text() { cat "$1/.stamp"; }

# use_llvm N: builds of kernels take the LLVM N that ci/setup unpacked from here on.
use_llvm() {
    local dir
    dir=$(part_dir "llvm$1")
    is_stamped "$dir" || die "LLVM $1 is not set up: run ci/setup llvm$1"
    export OCLAVE_CLANG=$dir/tools/clang OCLAVE_LLVM_SPIRV=$dir/tools/llvm-spirv
    export OCLAVE_OPT=$dir/tools/opt OCLAVE_LLVM_LINK=$dir/tools/llvm-link OCLAVE_LLVM_AR=$dir/tools/llvm-ar
    export OCLAVE_REQUIRE_TOOLCHAIN=1
}

# compiler_tools: the programs that OCLAVE_CLANG and the like name, and when they changed.
compiler_tools() {
    local name
    for name in OCLAVE_CLANG OCLAVE_OPT OCLAVE_LLVM_LINK OCLAVE_LLVM_SPIRV; do
        [ -z "${!name:-}" ] || echo "$name ${!name} $(stat -c %y "${!name}" 2>/dev/null)"
    done
}

# newest_llvm: the newest LLVM behind 19 that is set up; nothing where there is none.
newest_llvm() {
    local dir version newest=19
    for dir in "$OCLAVE_HOME"/llvm[0-9]*-1; do
        version=$(basename "$dir" | sed -n 's/^llvm\([0-9]*\)-.*/\1/p')
        ! is_stamped "$dir" || [ "$version" -le "$newest" ] || newest=$version
    done
    [ "$newest" -eq 19 ] || echo "$newest"
}

# unified_svm_library: the library that shows cl_khr_unified_svm on top of what a driver has (ci/setup.d/unified_svm.c). Made where
# it is missing or older than its source; nothing where there is no C compiler.
unified_svm_library() {
    local source=$OCLAVE_REPO/ci/setup.d/unified_svm.c dir=$CARGO_TARGET_DIR/unified-svm new
    if [ ! "$dir/library.so" -nt "$source" ]; then
        command -v cc >/dev/null || return 0
        new=$dir/$BASHPID
        mkdir -p "$new"
        # The real library need not be here: this one has its name.
        cc -shared -Wl,-soname,libOpenCL.so.1 -o "$new/libOpenCL.so.1" -x c /dev/null
        cc -shared -fPIC -O1 -Wall -Wextra -Werror -o "$new/library.so" "$source" -Wl,--no-as-needed "$new/libOpenCL.so.1" -ldl -lpthread
        mv "$new/library.so" "$dir/library.so"
        rm -r "$new"
    fi
    echo "$dir/library.so"
}

# pack_folder FOLDER: its path from here. Fails where it holds what no script packed.
pack_folder() {
    local folder=$1
    case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
    [ -e "$folder/.oclave-pack" ] || [ -z "$(ls -A "$folder" 2>/dev/null)" ] ||
        die "$folder is not empty, and no pack of oclave: name another folder"
    echo "$folder"
}

# wipe_pack FOLDER: makes a folder from pack_folder empty, and marks it.
wipe_pack() {
    rm -rf "$1"
    mkdir -p "$1"
    : >"$1/.oclave-pack"
}

# with_lock NAME CMD…: one at a time among all processes that share $OCLAVE_HOME.
with_lock() {
    local name=$1
    shift
    mkdir -p "$OCLAVE_HOME"
    (
        flock -n 9 || {
            say "waiting for another setup of $name to finish"
            flock 9
        }
        "$@"
    ) 9>"$OCLAVE_HOME/$name.lock"
}
