# shellcheck shell=bash
. "$OCLAVE_REPO/ci/sources.d/pyfai.sh"
