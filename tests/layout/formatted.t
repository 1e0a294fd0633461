#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every C file is as make format leaves it: one formatter, one kind of comment. seconds: 300
. "$(dirname "$0")/../lib.sh"
requires clang-format python3 git
is "$("$TOP/scripts/format" --check 2>&1)" "" "no file would be changed (make format changes them)"

mkdir -p "$TMP/tree/scripts"
cp "$TOP/scripts/format" "$TMP/tree/scripts"
cp "$TOP/.clang-format" "$TMP/tree"
cat >"$TMP/tree/probe.c" <<'C'
/* A comment
 * of two lines. */
int  probe(int *a) { return a[0]; /* as it is */ }
static const char *const text = "/* no comment */"; /* one */
C
fails "a file that is not formatted is seen" "$TMP/tree/scripts/format" --check probe.c
ok "formatting succeeds" "$TMP/tree/scripts/format" probe.c
is "$(cat "$TMP/tree/probe.c")" '// A comment
// of two lines.
int probe(int *a)
{
    return a[0]; // as it is
}
static const char *const text = "/* no comment */"; // one' "comments become line comments where they end their line"
ok "and then nothing is left to do" "$TMP/tree/scripts/format" --check probe.c
done_testing
