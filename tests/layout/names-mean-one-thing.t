#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No two files of different folders share a name: who reads or writes of `memory.c` means one file. A source and its
# header are one file, and each program has its main.c.
. "$(dirname "$0")/../lib.sh"

# files TREE: the sources below it that share their name, a line a name.
files() {
    find "$1" \( -path "$1/build" -o -path "$1/tests" -o -path "$1/bench" -o -path "$1/docs" -o -path "$1/examples" \
        -o -path "$1/proto/generate" -o -name .git \) -prune -o -name '*.[ch]' -printf '%P\n' |
        sed 's/\.[ch]$//' | sort -u |
        awk -F/ '$NF != "main" { count[$NF]++; all[$NF] = all[$NF] " " $0 }
                 END { for (name in count) if (count[name] > 1) print name ":" all[name] }' | sort
}
is "$(files "$TOP")" "" "no two files have one name"

mkdir -p "$TMP/top/worker" "$TMP/top/sim"
touch "$TMP/top/worker/"{main,module,same}.c "$TMP/top/worker/same.h" "$TMP/top/sim/"{main,module}.c
is "$(files "$TMP/top")" "module: sim/module worker/module" "a name that is used twice is seen"
done_testing
