#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each word of the glossary in docs/design/code.md lives in the file that is named there, and stands there once.
. "$(dirname "$0")/../lib.sh"
sed -n '/^## Glossary/,$p' "$TOP/docs/design/code.md" | sed -n 's/^| \([A-Za-z][^|]*[^ ]\) *| .* | `\([^`]*\)` |$/\1:\2/p' |
    grep -v '^word:' >"$TMP/words"
ok "the glossary has words, and few" [ "$(wc -l <"$TMP/words")" -gt 20 -a "$(wc -l <"$TMP/words")" -le 30 ]
is "$(cut -d: -f1 "$TMP/words" | sort | uniq -d)" "" "none of them twice"
while IFS=: read -r word file; do
    [ -e "$TOP/$file" ] && grep -qiE "(^|[^[:alpha:]])${word%% (*}" "$TOP/$file" || echo "$word: not in $file"
done <"$TMP/words" >"$TMP/strays"
is "$(cat "$TMP/strays")" "" "each is in the file that it is said to live in"
echo 'no such word here' >"$TMP/file"
fails "a word that is gone would be seen" grep -qiE "(^|[^[:alpha:]])lane" "$TMP/file"
done_testing
