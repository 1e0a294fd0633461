#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A study may have its box on another machine: boxes, native programs and what loads the box's processors run there, by ssh;
# programs that use the box run here; and nothing is left there when the run ends. A command in ssh's place runs things in a
# session of their own, with an environment of their own.
. "$(dirname "$0")/../lib.sh"
requires python3 setsid
cat >"$TMP/shell" <<END
#!/bin/bash
[ "\$1" = gpubox ] || exit 9
echo "\$2" >>"$TMP/said"
case "\$2" in *bin/rgpud*--listen*) set -- "\$1" "echo \\\$\\\$ >>'$TMP/pids'; \$2" ;; esac
exec setsid -w env -i PATH="\$PATH" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} sh -c "\$2"
END
chmod +x "$TMP/shell"
run() { "$TOP/studies/run" --build "$BUILD" --miniature --box-shell "$TMP/shell" "$@" 2>"$TMP/err"; }

ok "it runs" run --box gpubox --box-address 127.0.0.1 --output "$TMP/run" kernels processors
diag "$(grep failed "$TMP/err" || true)"
is "$(grep -c '"status": "failed"' "$TMP/run/results.jsonl")" 0 "nothing fails"
like "$(cat "$TMP/run/results.jsonl")" '"column": "shm", "why": "box and programs are on two machines"' "shared memory has no place in it"
like "$(cat "$TMP/run/results.jsonl")" '"column": "native".*"figure": "time"' "there are native figures"
like "$(cat "$TMP/run/results.jsonl")" '"column": "tcp".*"figure": "time"' "and figures of the box"
like "$(cat "$TMP/run/results.jsonl")" '"box": "gpubox"' "the results say where the box was"
like "$(cat "$TMP/said")" 'bin/rgpud .*--listen 0.0.0.0:0' "the box ran there"
like "$(cat "$TMP/said")" 'two_kernels saxpy' "native programs too"
like "$(cat "$TMP/said")" 'cpu_sgemm' "and the load of its processors"
unlike "$(grep two_kernels "$TMP/said")" RGPU_BOXES "but none that uses the box"
# Each server there wrote its process first.
left() { for pid in $(cat "$TMP/pids"); do ! kill -0 "$pid" 2>/dev/null || echo "$pid"; done; }
ended() { [ -z "$(left)" ]; }
ok "boxes were started there" [ -s "$TMP/pids" ]
ok "and have ended with the run" await "the boxes there end" ended
fails "a machine that does not answer is refused" run --box nowhere --output "$TMP/none" kernels
like "$(cat "$TMP/err")" 'nowhere does not run .*rgpud: it must let us in by ssh' "with what it must do"
done_testing
