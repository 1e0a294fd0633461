#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `make compdb` has a command for each C file of the product, with which a compiler takes it.
. "$(dirname "$0")/../lib.sh"
requires python3 make git
ok "make compdb" make -s -C "$TOP" B="${BUILD#"$TOP"/}" COMPDB="$TMP/commands.json" compdb
cat >"$TMP/look.py" <<'END'
import json, subprocess, sys
entries = {entry["file"]: entry for entry in json.load(open(sys.argv[1]))}
for name in sys.argv[2].split():
    if name not in entries:
        print("no command for", name)
for name in ("transport/shm/shm_link.c", "broker/main.c", "client-lib/cuda/api/cu_memory.c"):
    entry = entries.get(name) or next(entry for file, entry in entries.items() if file.startswith(name.split("/")[0]))
    arguments = [word for word in entry["arguments"] if word not in ("-c", "-MMD", "-MP")]
    del arguments[arguments.index("-o"):arguments.index("-o") + 2]
    if subprocess.run(arguments + ["-fsyntax-only"], cwd=entry["directory"]).returncode:
        print("refused:", name)
END
files=$(cd "$TOP" && git ls-files 'admin-cli/*.c' 'broker/*.c' 'client-lib/*.c' 'common/*.c' 'daemon/*.c' 'sim/*.c' 'transport/*.c')
is "$(python3 "$TMP/look.py" "$TMP/commands.json" "$files" 2>&1)" "" "each file has its command, and a compiler takes it"
done_testing
