#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No two files, types or exported functions share a name: who reads or writes of `memory.c` or `struct pool` means one
# thing. A source and its header are one file, each program has its main.c, functions of one folder may be entry
# points of several plugins, libraries export what CUDA, CUPTI and the management library name, and export_table_* is what common/driver asks of each
# library that links it.
. "$(dirname "$0")/../lib.sh"
requires nm

sources() {
    find "$1" \( -path "$1/build" -o -path "$1/tests" -o -path "$1/bench" -o -path "$1/docs" -o -path "$1/examples" \
        -o -path "$1/proto/generate" -o -name .git \) -prune -o -name '*.[ch]' -printf '%P\n'
}

# Lines "NAME PLACE" to a line for each name that has several places.
several() {
    sort -u | awk '{ count[$1]++; all[$1] = all[$1] " " $2 }
                   END { for (name in count) if (count[name] > 1) print name ":" all[name] }' | sort
}

files() { sources "$1" | sed 's/\.[ch]$//' | awk -F/ '$NF != "main" { print $NF, $0 }' | several; }

types() {
    (cd "$1" && sources . | xargs grep -HoE '^(typedef |static |const )*(struct|union|enum) [a-z_0-9]+( =)? *\{') |
        sed -E 's/^([^:]*):.*(struct|union|enum) ([a-z_0-9]+).*/\3 \1/' | several
}

# functions TREE OBJECTS
functions() {
    (cd "$2" && sources "$1" | sed -n 's/\.c$/.o/p' | xargs ls 2>/dev/null | xargs nm -A) |
        awk '$2 == "T" && $3 !~ /^(main$|cu(pti)?[A-Z]|nvml[A-Z]|export_table_)/ { sub("/[^/]*:.*", "", $1); print $3, $1 }' |
        several
}

# strays TREE: files that pages name and that are not there. slurm/ is Slurm's, and capitals stand for any name.
strays() {
    (cd "$1" && grep -oE '`[a-z0-9_/.-]+\.(c|h|py|spec|def|t)`' docs/*.md docs/*/*.md README.md 2>/dev/null) | tr -d '\140' |
        grep -v ':slurm/' | sort -u | while IFS=: read -r page file; do
        [ -e "$1/$file" ] || find "$1" \( -path "$1/build" -o -name .git \) -prune -o -path "*/$file" -print -quit |
            grep -q . || echo "$page: $file"
    done
}
is "$(files "$TOP")" "" "no two files have one name"
is "$(types "$TOP")" "" "no two types have one name"
ok "there are objects to look at" [ -e "$BUILD/obj/broker/main.o" ]
is "$(functions "$TOP" "$BUILD/obj")" "" "no two folders export functions of one name"
is "$(strays "$TOP")" "" "no page names a file that is not there"

mkdir -p "$TMP/top/worker" "$TMP/top/sim" "$TMP/top/docs" "$TMP/obj"
echo 'See `same.c`, `worker/module.c` and `gone.c`.' | tee "$TMP/top/docs/page.md" >"$TMP/top/README.md"
touch "$TMP/top/worker/"{main,same}.c "$TMP/top/worker/same.h" "$TMP/top/sim/main.c"
for folder in worker sim; do
    printf 'struct pool {\n    int x;\n};\nint taken(void);\nint taken(void)\n{\n    return 0;\n}\n' >"$TMP/top/$folder/module.c"
    mkdir -p "$TMP/obj/$folder"
    ${CC:-cc} -c -o "$TMP/obj/$folder/module.o" "$TMP/top/$folder/module.c"
done
is "$(files "$TMP/top")" "module: sim/module worker/module" "a file's name that is used twice is seen"
is "$(types "$TMP/top")" "pool: sim/module.c worker/module.c" "a type's is"
is "$(functions "$TMP/top" "$TMP/obj")" "taken: sim worker" "a function's is"
is "$(strays "$TMP/top" | xargs)" "README.md: gone.c docs/page.md: gone.c" "and a page that names what is gone"
done_testing
