#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Which folder needs which, and which files need each other in a circle, is what docs/design/architecture.md says.
. "$(dirname "$0")/../lib.sh"
requires python3 nm
page=$TOP/docs/design/architecture.md
arrows() { python3 -B "$TOP/tests/layout/arrows.py" "$TOP" "$BUILD" "$1"; }

# "folder -> folder" for each pair of the page's first table.
sed -n '/^| folder | knows |/,/^$/p' "$page" | sed -n 's/^| `\([^`]*\)` | *\(.*\) |$/\1 \2/p' | tr -d '\140' |
    awk '{ for (i = 2; i <= NF; i++) print $1 " -> " $i }' | sort >"$TMP/allowed"
arrows folders >"$TMP/ties"
cut -d: -f1 "$TMP/ties" | sort >"$TMP/found"
ok "the table says something" [ "$(wc -l <"$TMP/allowed")" -gt 20 ]
is "$(comm -13 "$TMP/allowed" "$TMP/found" | while read -r pair; do grep "^$pair:" "$TMP/ties"; done)" "" \
    "no folder needs another that the page does not name"
is "$(comm -23 "$TMP/allowed" "$TMP/found")" "" "the page names no arrow that is gone"

sed -n '/^| circle around | files | why |/,/^$/p' "$page" | sed -n 's/^| `\([^`]*\)` | \([0-9]*\) |.*/\1 \2/p' |
    sort >"$TMP/known"
arrows circles >"$TMP/circles"
while read -r circle; do
    found=
    for file in $circle; do
        read -r _ most < <(grep "^$file " "$TMP/known") || continue
        [ "$(wc -w <<<"$circle")" -gt "$most" ] || found=$file
    done
    if [ -n "$found" ]; then echo "$found" >>"$TMP/named"; else echo "$circle"; fi
done <"$TMP/circles" >"$TMP/unknown"
is "$(cat "$TMP/unknown")" "" "no circle is new, or larger than the page says"
is "$(cut -d" " -f1 "$TMP/known" | comm -23 - <(sort "$TMP/named"))" "" "the page explains no circle that is gone"
is "$(arrows between)" "" "no circle spans folders"

printf 'int daemon_probe(void);\n#include "broker/core.h"\n' >"$TMP/probe.h"
mkdir -p "$TMP/top/daemon" "$TMP/top/broker" "$TMP/none/obj/gen"
cp "$TMP/probe.h" "$TMP/top/daemon/probe.h"
echo >"$TMP/top/broker/core.h"
is "$(python3 -B "$TOP/tests/layout/arrows.py" "$TMP/top" "$TMP/none" folders | cut -d: -f1)" "daemon -> broker" \
    "a new arrow is seen"
done_testing
