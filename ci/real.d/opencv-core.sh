# shellcheck shell=bash
. "$OCLAVE_REPO/ci/real.d/opencv-imgproc.sh"
