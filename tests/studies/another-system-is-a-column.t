#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Another system with a libcuda.so.1 and a server of its own is measured beside ours by a file that declares it: here a second build
# of rgpu. Where it is not there it is left out with the reason.
. "$(dirname "$0")/../lib.sh"
requires python3
other=$TMP/other
mkdir -p "$other/bin" "$other/lib"
cp -d "$BUILD"/lib/*.so* "$other/lib/"
cp "$BUILD"/bin/rgpu* "$other/bin/"
mv "$other/bin/rgpud" "$other/bin/really-rgpud"
# What was started with which words; the worker lies beside the program that runs.
printf '#!/bin/sh\necho "$*" >>"%s"\nexec "%s" "$@"\n' "$TMP/started" "$other/bin/really-rgpud" >"$other/bin/rgpud"
chmod +x "$other/bin/rgpud"
cp "$TOP/bench/studies/columns/another-build.ini" "$other/"
run() { "$TOP/bench/studies/run" --build "$BUILD" --miniature --columns native,another-build "$@" 2>"$TMP/err"; }
ok "studies run in it" run kernels:saxpy copies:pinned copies:blocks --column "$other/another-build.ini" --output "$TMP/run"
diag "$(grep failed "$TMP/err" || true)"
is "$(grep -c '"status": "failed"' "$TMP/run/results.jsonl")" 0 "nothing fails"
like "$(cat "$TMP/run/results.jsonl")" '"column": "another-build".*"figure": "time"' "it has figures"
like "$(cat "$TMP/run/results.jsonl")" '"program": "pinned", "column": "another-build".*"figure"' "also of a program that names the usual columns"
unlike "$(cat "$TMP/run/results.jsonl")" '"program": "blocks", "column": "another-build"' "but not of one that is about boxes of ours"
like "$(cat "$TMP/started")" '^--standalone --devices sim:1 --listen 127.0.0.1:' "its own server was started, with the GPUs of this run"
rm "$other/lib/libcuda.so.1"
ok "without it" run kernels:saxpy --column "$other/another-build.ini" --output "$TMP/none"
like "$(cat "$TMP/none/results.jsonl")" '"column": "another-build", "why": ".*libcuda.so.1 is not there' "it is left out, with what is missing"
for file in "$TOP"/bench/studies/columns/*.ini; do
    ok "${file##*/} is a declaration" run kernels:saxpy --column "$file" --columns native --output "$TMP/${file##*/}"
done
done_testing
