#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Figures of measurements stand in docs/performance.md, each section with its date, and on no other page: what README has of them is there, too.
. "$(dirname "$0")/../lib.sh"
requires python3
# Pages that still have figures of their own.
known="docs/admin/pool.md docs/guide/managed.md"
strays() {
    python3 - "$@" <<'END'
import glob, re, sys
for name in sorted(glob.glob(sys.argv[1] + "/docs/*/*.md")):
    text = re.sub(r"^```.*?^```", "", open(name, encoding="utf-8").read(), flags=re.M | re.S)
    for line in text.split("\n"):
        if not line.startswith("    ") and re.search(r"\d (us|µs|[GM]i?B/s)\b", re.sub(r"`[^`]*`", "", line)):
            print(name[len(sys.argv[1]) + 1:])
            break
END
}
is "$(comm -23 <(strays "$TOP" | sort) <(tr ' ' '\n' <<<"$known" | sort) | xargs)" "" "no other page has figures"
undated=$(awk '/^## /{ if (section && !dated) print section; section = $0; dated = 0 } /20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]/ { dated = 1 } END { if (!dated) print section }' \
    "$TOP/docs/performance.md")
is "$(grep -cE 'Page-locked memory|Overhead studies|What a change costs' <<<"$undated") $(grep -vcE 'Page-locked memory|Overhead studies|What a change costs' <<<"$undated")" \
    "3 0" "each section with figures has its date"
mkdir -p "$TMP/tree/docs/admin"
printf 'It took 3 us.\n' >"$TMP/tree/docs/admin/page.md"
is "$(strays "$TMP/tree")" docs/admin/page.md "a page with figures is found"
done_testing
