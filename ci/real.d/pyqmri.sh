# shellcheck shell=bash
# PyQMRI's kernels have the ending of C.

sources() { find "$1" -path '*/kernels/*.c' -print0; }
