#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A bundle measures studies with nothing of this tree, nothing of the network and nothing of Python but its own library.
. "$(dirname "$0")/../lib.sh"
requires python3 strip ip
[ -z "${SAN:-}" ] || skip_all "sanitized libraries have no place in a bundle"

ok "a bundle is made" "$TOP/scripts/bundle" "$TMP/bundle" "$BUILD"
in_bundle() {
    (cd "$TMP/bundle" && env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin LD_LIBRARY_PATH="$TMP/bundle/deps" unshare -n sh -c \
        'ip link set lo up && exec "$@"' sh /usr/bin/python3 -I -S bench/studies/"$@")
}
unshare -n true 2>/dev/null || { skip "a network of its own is for root"; done_testing; }
ok "it measures" in_bundle run --miniature --output "$TMP/run" kernels processors
is "$(grep -c '"status": "failed"' "$TMP/run/results.jsonl")" 0 "nothing fails"
like "$(cat "$TMP/run/results.jsonl")" '"figure": "CPU product"' "what keeps the processors busy is in it"
like "$("$TOP/bench/studies/compare" "$TMP/run" "$TMP/run")" '^[1-9][0-9]* figures in both' "and its results are read elsewhere"
done_testing
