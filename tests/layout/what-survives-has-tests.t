#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each line of docs/admin/survives.md has a test that exists and makes the check that tests/layout/survives.list names, and the list
# has no other lines.
. "$(dirname "$0")/../lib.sh"
python3 - "$TOP" >"$TMP/found" <<'END'
import os, sys

top = sys.argv[1]
with open(top + "/docs/admin/survives.md") as page:
    lines = [line.split(" | ")[0][2:] for line in page if line.startswith("| ")][1:]
with open(top + "/tests/layout/survives.list") as kept:
    rows = [line.rstrip("\n").split(" | ") for line in kept if not line.startswith("#")]
print("lines %d" % len(lines))
for line in lines:
    if line not in [row[0] for row in rows]:
        print("no test: " + line)
for what, test, words in rows:
    if what not in lines:
        print("no line: " + what)
    path = "%s/tests/%s.t" % (top, test)
    if not os.path.exists(path) or words not in open(path).read():
        print("no check: %s: %s" % (test, words))
END
ok "the page has lines" [ "$(sed -n 's/^lines //p' "$TMP/found")" -ge 25 ]
is "$(grep -v '^lines ' "$TMP/found" || true)" "" "each has a test, and each test a line"
done_testing
