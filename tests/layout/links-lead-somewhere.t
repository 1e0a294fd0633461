#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Links of all pages lead to files of the tree and to headings in them, and the index has every page once.
. "$(dirname "$0")/../lib.sh"
requires python3 git
links() { python3 -B "$TOP/tests/layout/links.py" "$@"; }
is "$(links "$TOP")" "" "each link leads somewhere, and the index has each page once"
mkdir -p "$TMP/tree/docs"
cd "$TMP/tree"
printf '# A page\n\n## Ways, and more\n\n## Ways, and more\n[a](other.md#no-such) [b](other.md#one_two-three) [c](gone.md) [d](#ways-and-more-1)\n`[e](gone.md)`\n' >docs/page.md
printf '# Other\n\n    # no heading\n\n## `one_two` three\n```\n## no-such\n[f](gone.md)\n```\n' >docs/other.md
printf '[page](page.md) [twice](page.md)\n' >docs/README.md
is "$(links "$TMP/tree")" "docs/README.md: other.md is not in the index
docs/README.md: page.md is in the index twice
docs/page.md: other.md#no-such
docs/page.md: gone.md" "what does not is found"
done_testing
