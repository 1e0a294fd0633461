#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The sessions of one lease have so much code loading at once, and no more; other leases have their own limit.
. "$(dirname "$0")/../lib.sh"

printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
start_box --devices sim:1 --auth ticket --key-file "$TMP/box.key" --name imagebox --max-images-per-lease 64M
gpu=$(sed -n 's/.*device ordinal=0 uuid=\([^ ]*\).*/\1/p' "$BOX_LOG")
load() {
    RGPU_TICKET=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" imagebox 3600 "lease=$1" shared=1073741824 "$gpu") \
        on_box "$BUILD/tests/large-image" "$2"
}
is "$(load lease-1 60)" "loaded 0" "an image within max_images_per_lease is loaded"
is "$(load lease-1 60)" "loaded 0" "and another one, when that has been given back"
is "$(load lease-1 65)" "loaded 2" "one that is larger finds no memory"
ok "the log says why" grep -q 'no room for an image bytes=68157441, within max_images_per_lease' "$BOX_LOG"
is "$(load lease-2 60)" "loaded 0" "other leases load theirs"
done_testing
