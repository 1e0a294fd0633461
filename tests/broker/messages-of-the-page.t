#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each message that docs/admin/troubleshooting.md explains is one that the programs have.
. "$(dirname "$0")/../lib.sh"
requires python3
unknown() {
    python3 - "$TOP" "$1" <<'END'
import glob, re, sys
text = ""
for folder in ("admin-cli", "broker", "client-lib", "common", "daemon"):
    for name in glob.glob(f"{sys.argv[1]}/{folder}/**/*.[ch]", recursive=True):
        text += open(name, encoding="utf-8").read()
text = re.sub(r'"\s*\n\s*"', "", text)
for message in re.findall(r"^\| `([^`]+)` \| [a-z]", open(sys.argv[2], encoding="utf-8").read(), re.M):
    # The loader's, systemd's and the C library's own, not ours.
    others = message.startswith(("libcuda.so.1: ", "Job for ")) or message == 'error="Address already in use"'
    pattern = re.sub(r"\bN(AME)?\b", '%[^ "]+', re.escape(message))
    if not re.search(pattern, text) and not others:
        print(message)
END
}
is "$(unknown "$TOP/docs/admin/troubleshooting.md")" "" "every message of the page is a program's"
ok "there are many" [ "$(grep -c '^| `' "$TOP/docs/admin/troubleshooting.md")" -ge 20 ]
echo '| `the moon is full` | it is | wait |' >"$TMP/page.md"
is "$(unknown "$TMP/page.md")" "the moon is full" "and one that is none is found"
done_testing
