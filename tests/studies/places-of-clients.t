#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One command measures copies from a place where a client can be, over what is chosen there and over what is forced, and prints a
# table and a report of it: here from a container with a network of its own.
. "$(dirname "$0")/../lib.sh"
requires python3 bwrap
bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc true 2>"$TMP/err" || skip_all "no right to make containers here: $(cat "$TMP/err")"
places() { "$TOP/bench/places" --build "$BUILD" --miniature "$@"; }
ok "copies from a container are measured" places --places container --output "$TMP/out"
table=$(cat "$TMP/ok.out")
for path in chosen shm shm-inline shm-staged shm-mapped tcp; do
    like "$table" "^  pinned to, $path +[0-9.]+ us +[0-9.]+ GB/s" "the table has $path, latency and bandwidth"
done
like "$table" '^    chosen to the best forced, time +[0-9.]+ +[0-9.]+$' "and what is chosen beside the best that is forced"
like "$(grep -h '"kind": "done"' "$TMP/out/container/run/results.jsonl")" '"column": "container-shm".*"status": "ok"' "forced paths were run"
unlike "$(cat "$TMP/out/container/run/results.jsonl")" '"status": "failed"' "and none failed"
ok "the pictures are in a report" grep -q '<svg' "$TMP/out/container/run/report.html"
fails "a place that does not exist" places --places moon --output "$TMP/none"
like "$(cat "$TMP/ok.out")" "there is no place 'moon'; there are host, container, guest, rdma" "is refused with those that do"
done_testing
