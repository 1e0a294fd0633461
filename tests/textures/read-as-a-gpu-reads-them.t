#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The software GPU reads textures, filters them and reaches surfaces as an H100 did (h100-580.txt.xz, recorded by the
# same program), to the bit where accepted.txt does not say otherwise.
. "$(dirname "$0")/../lib.sh"
LD_LIBRARY_PATH=$BUILD/lib/sim "$BUILD/tests/textures-record" >"$TMP/ours" 2>"$TMP/errors"
here=$TOP/tests/textures
if "$here/compare.py" "$here/h100-580.txt.xz" "$here/accepted.txt" "$TMP/ours" >"$TMP/compared" 2>&1; then
    pass "$(tail -n 1 "$TMP/compared")"
else
    diag "$(tail -n 20 "$TMP/compared")"
    fail "the software GPU gives what an H100 gives"
fi
done_testing
