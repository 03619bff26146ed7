# shellcheck shell=bash
# clesperanto's kernels. There are over three hundred, and many are alike.

# sources FOLDER: every other one, without those for three-dimensional images, which are not filled.
sources() { find "$1" -name '*.cl' ! -name '*3d*' -print0 | sort -z | awk -v RS='\0' -v ORS='\0' 'NR % 2 == 1'; }
