#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every program says what it is and what it takes in the same way, and its manual says so too.
. "$(dirname "$0")/../lib.sh"
declare -A manual=([rgpud]=rgpud.8 [rgpu-brokerd]=rgpu-brokerd.8 [rgpu-slurm-sync]=rgpu-slurm-sync.8
    [rgpuctl]=rgpuctl.1 [rgpu-worker]=)
for program in rgpud rgpu-brokerd rgpu-slurm-sync rgpuctl rgpu-worker; do
    path=$BUILD/bin/$program page=$TOP/docs/man/${manual[$program]}
    if [ ! -e "$path" ]; then
        skip "$program: it is not built here"
        continue
    fi
    ok "$program --help succeeds" eval '"$path" --help >"$TMP/help" 2>"$TMP/errors"'
    like "$(head -n 1 "$TMP/help")" "^usage: $program" "$program --help says how it is used"
    is "$(cat "$TMP/errors")" "" "on standard output alone"
    like "$("$path" --version)" "^$program [0-9]+(\.[0-9]+)+( protocol [0-9]+)?$" "$program --version says which it is"
    is "$("$path" --version | wc -l)" 1 "in one line"
    sample=$("$path" --print-config 2>/dev/null) || sample=
    case $program in
    rgpud | rgpu-brokerd | rgpu-slurm-sync)
        like "$sample" "^# Settings of $program " "$program --print-config prints the sample file" ;;
    *)
        is "$sample" "" "$program, which has no file, prints none" ;;
    esac
    [ -n "${manual[$program]}" ] || continue
    is "$(grep -c -- '-check-config' "$page" | sed 's/^[1-9][0-9]*$/yes/')" "$([ -n "$sample" ] && echo yes || echo 0)" \
        "${manual[$program]} names --check-config where there are settings"
    for question in help version; do
        ok "${manual[$program]} names --$question" grep -qE -- "[ -]-$question" "$page"
    done
    is "$(grep -c -- '-print-config' "$page" | sed 's/^[1-9][0-9]*$/yes/')" "$([ -n "$sample" ] && echo yes || echo 0)" \
        "and --print-config where there is one"
done

for program in rgpud rgpu-brokerd; do
    path=$BUILD/bin/$program
    is "$("$path" --log-level debug --help)" "$("$path" --help)" "$program answers wherever it is asked"
    fails "$program --config needs a file" "$path" --config
    out=$("$path" --config="$TMP/none" 2>&1) || true
    like "$out" "$TMP/none.*No such file" "$program takes --config=FILE as well as --config FILE"
    is "$("$path" --config "$TMP/none" 2>&1 | sed 's/^[^ ]* //')" "$(sed 's/^[^ ]* //' <<<"$out")" "and says the same of both"
done
done_testing
