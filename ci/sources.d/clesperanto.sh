# shellcheck shell=bash
# The macros that clesperanto gives its kernels: the images of each are named by the kernel itself.

# arguments PROJECT SOURCE WORK: images of floats. One that the kernel writes cannot be read.
arguments() {
    local source=$2 header=$3/clesperanto.h dims=2 coordinate=int2 name access
    [[ $(basename "$source") != *3d* ]] || dims=3 coordinate=int4
    {
        cat "$HOME_OF_SOURCES/$1"/files/*/_tier0/preamble.cl
        cat <<'TEXT'

#define GET_IMAGE_WIDTH(image) IMAGE_SIZE_ ## image ## _WIDTH
#define GET_IMAGE_HEIGHT(image) IMAGE_SIZE_ ## image ## _HEIGHT
#define GET_IMAGE_DEPTH(image) IMAGE_SIZE_ ## image ## _DEPTH
#define MAX_ARRAY_SIZE 1000
TEXT
        grep -ohE '\bIMAGE_[A-Za-z0-9_]+_(PIXEL_)?TYPE\b' "$source" | sed -E 's/^IMAGE_//; s/_(PIXEL_)?TYPE$//' | sort -u |
            while read -r name; do
                access=__read_only
                ! grep -qE "WRITE_${name}_IMAGE|WRITE_IMAGE *\( *${name}\b" "$source" || access=__write_only
                cat <<TEXT
#define CONVERT_${name}_PIXEL_TYPE clij_convert_float_sat
#define IMAGE_${name}_PIXEL_TYPE float
#define IMAGE_${name}_TYPE $access image${dims}d_t
#define POS_${name}_TYPE $coordinate
#define POS_${name}_INSTANCE(a, b, c, d) ($coordinate)$([ "$dims" = 2 ] && echo '(a, b)' || echo '(a, b, c, d)')
#define READ_${name}_IMAGE(a, b, c) read_imagef(a, b, c)
#define WRITE_${name}_IMAGE(a, b, c) write_imagef(a, b, c)
#define IMAGE_SIZE_${name}_WIDTH 64
#define IMAGE_SIZE_${name}_HEIGHT 64
#define IMAGE_SIZE_${name}_DEPTH 64
TEXT
            done
    } >"$header"
    printf '%s\n' "-I$(dirname "$source")" -include "$header"
}
