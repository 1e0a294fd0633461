#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every declared study runs in miniature on software GPUs, none of its runs fails, and its report is complete: each column
# that could run has figures, no picture is empty, and a browser shows the page without asking anybody. seconds: 900
. "$(dirname "$0")/../lib.sh"
requires python3
run=$TMP/run

"$TOP/bench/studies/run" --build "$BUILD" --miniature --output "$run" >"$TMP/out" 2>"$TMP/err" ||
    diag "$(tail -n 20 "$TMP/err")"
is "$(cat "$TMP/out")" "$run" "all studies run"
is "$(python3 - "$run/results.jsonl" <<'END'
import json, sys
for row in map(json.loads, open(sys.argv[1])):
    if row["kind"] == "done" and row["status"] != "ok":
        print("%(study)s %(program)s %(size)s in column %(column)s: %(error)s" % row)
END
)" "" "no run fails"
declared=$(cd "$TOP/bench/studies/declared" && for file in *.py; do echo "${file%.py}"; done)
is "$("$TOP/bench/studies/run" --list | cut -d' ' -f1)" "$declared" "each file declares a study"

/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || { skip "python3-matplotlib is not there"; done_testing; }
ok "the report is made" "$TOP/bench/studies/report" --no-pdf "$run"
page=$run/report.html
is "$(grep -o 'class="warning gap">[^<]*' "$page" || true)" "" "nothing that was declared is missing"
is "$(grep -oE '<[^>]*\b(src|href|xlink:href)="(https?:)?//[^"]*"|@import' "$page" || true)" "" "nothing comes from elsewhere"

command -v chromium >/dev/null || { skip "chromium is not there"; done_testing; }
# A picture is left out only where all that it shows needs what this machine lacks, and then is named.
drawn='[...document.querySelectorAll("figure.plot")].every(f => f.querySelector("svg").getBoundingClientRect().height > 100 && f.querySelectorAll("svg path").length > 10 && f.dataset.columns)'
sections='[...document.querySelectorAll("section[data-study]")].map(s => s.dataset.study).sort().join(" ")'
start browser python3 "$TOP/tests/broker/browse.py" "$TMP/profile" "file://$page" "js:$drawn" \
    "js:$sections === \"$(xargs <<<"$declared")\"" \
    'js:[...document.querySelectorAll("section[data-study]")].every(s => s.querySelector("table") || s.querySelector("ul"))' \
    'js:performance.getEntriesByType("resource").length === 0' \
    'js:document.documentElement.scrollWidth <= innerWidth' width:500 'js:document.documentElement.scrollWidth <= innerWidth'
READY_SECONDS=130
seen() { await_line browser "^seen .*$1"; }
ok "every picture shows something" seen 'every.f'
ok "every study has its section" seen 'map.s'
ok "with figures, or why there are none" seen 'querySelector..table'
ok "the browser fetched nothing" seen 'performance'
ok "the page fits a window" seen 'scrollWidth'
ok "and a small one" seen 'scrollWidth'
done_testing
