#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What makes the tree hard to read, as counts.py counts it, does not grow: who lowers a number lowers its limit here.
. "$(dirname "$0")/../lib.sh"
requires python3
limits="opener 0
dialect 2
dialect-pages 2
long-comment 4
static-name 12
crowded 0
top-level 18"
counts() { python3 -B "$TOP/tests/layout/counts.py" "$@"; }

counts "$TOP" >"$TMP/counts"
while read -r kind most; do
    number=$(sed -n "s/^$kind //p" "$TMP/counts")
    ok "$kind: $number, at most $most" [ "${number:-9999}" -le "$most" ]
    [ "${number:-9999}" -le "$most" ] || counts "$TOP" "$kind" | sed 's/^/# /' >&2
done <<<"$limits"
is "$(wc -l <"$TMP/counts")" "$(wc -l <<<"$limits")" "each kind has its limit"

mkdir -p "$TMP/tree/common" "$TMP/tree/docs"
printf '// %s\nstatic int one(void);\nstatic int two(void);\n' "Who asks is told nothing." >"$TMP/tree/common/a.c"
printf '// %0101d\nstatic int one(void);\n' 0 >"$TMP/tree/common/b.c"
echo "It is told so." >"$TMP/tree/docs/page.md"
is "$(counts "$TMP/tree" | xargs)" \
    "opener 1 dialect 1 dialect-pages 1 long-comment 1 static-name 1 crowded 0 top-level 2" "each kind is counted"
done_testing
