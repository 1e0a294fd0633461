#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# CHANGELOG.md has a heading with its date for each version, the newest first, and groups of changes below it.
. "$(dirname "$0")/../lib.sh"
requires python3
wrong() {
    python3 - "$1" "$2" <<'END'
import re, sys
order = ["Added", "Changed", "Fixed", "Removed", "Security"]
version, groups, open_group = None, [], False
for number, line in enumerate(open(sys.argv[1], encoding="utf-8"), 1):
    if line.startswith("## "):
        heading = re.match(r"## (\d+\.\d+\.\d+), (\d{4}-\d\d-\d\d|in preparation)$", line)
        if not heading or (heading[2] == "in preparation" and version):
            print(number, "no version with its date")
        if heading and version is None and heading[1] != sys.argv[2]:
            print(number, "not the version that is built")
        version, groups, open_group = line, [], False
    elif line.startswith("### "):
        name = line[4:].strip()
        if name not in order or [order.index(group) for group in groups + [name] if group in order] != sorted({order.index(group) for group in groups + [name] if group in order}):
            print(number, "no group, or out of order")
        groups.append(name)
        open_group = True
    elif line.startswith("- ") and not open_group:
        print(number, "a change in no group")
END
}
version=$(sed -n 's/^VERSION := //p' "$TOP/Makefile")
is "$(wrong "$TOP/CHANGELOG.md" "$version")" "" "each change is in its group, each version has its date"
printf '## 1.0.0, soon\n\n- x\n\n### Fixed\n\n- y\n\n### Added\n\n### Other\n' >"$TMP/changes"
is "$(wrong "$TMP/changes" 2.0.0 | cut -d' ' -f1 | xargs)" "1 3 9 11" "what is not so is found"
done_testing
