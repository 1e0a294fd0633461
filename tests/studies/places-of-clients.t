#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One command measures copies from each place where a client can be, over what is chosen there and over what is forced, and makes one
# table and one picture of it: here from the box's host and a container with a network of its own.
. "$(dirname "$0")/../lib.sh"
requires python3 bwrap
bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc true 2>"$TMP/err" || skip_all "no right to make containers here: $(cat "$TMP/err")"
places() { "$TOP/bench/places" --build "$BUILD" --miniature "$@"; }
ok "copies from the host and a container are measured" places --places host,container --output "$TMP/out"
table=$(cat "$TMP/out/places.md")
for place in host container; do
    for path in chosen shm shm-inline shm-staged shm-mapped tcp tcp-inline tcp-staged; do
        like "$table" "^\| $place, software GPU \| pinned to \| $path \| [0-9.]+ us \| [0-9.]+ GB/s" "$place: the table has $path, latency and bandwidth"
    done
    like "$table" "^\| $place, software GPU \| pinned to \| chosen to the best forced, time \| [0-9.]+ \| [0-9.]+ " \
        "and what is chosen beside the best that is forced"
done
like "$(grep -h '"kind": "done"' "$TMP/out/container/run/results.jsonl")" '"column": "container-shm".*"status": "ok"' "forced paths were run"
unlike "$(cat "$TMP"/out/*/run/results.jsonl)" '"status": "failed"' "and none failed"
ok "one picture has all of it" grep -q 'container' "$TMP/out/places.svg"
ok "the study's pictures are in a report" grep -q '<svg' "$TMP/out/report.html"

# A place that cannot be had, as where there is no QEMU.
mkdir "$TMP/few"
for tool in /usr/bin/* /bin/*; do
    case "${tool##*/}" in qemu-system-*) ;; *) ln -sf "$tool" "$TMP/few/" ;; esac
done
fails "a place that is asked for and cannot be had is an error" env PATH="$TMP/few" "$TOP/bench/places" --build "$BUILD" --miniature \
    --places rdma --output "$TMP/none"
like "$(cat "$TMP/none/places.md")" '^\| rdma, software GPU \| not measured \| .*qemu-system-x86_64 is missing' "and the table has the reason"
ok "tables of two runs are one" places --show "$TMP/out" "$TMP/none" --output "$TMP/both"
like "$(cat "$TMP/both/places.md")" '^\| container, software GPU \| pinned to' "with what was measured"
like "$(cat "$TMP/both/places.md")" '^\| rdma, software GPU \| not measured' "and what is missing"
fails "a place that does not exist" places --places moon --output "$TMP/none"
like "$(cat "$TMP/ok.out")" "there is no place 'moon'; there are host, container, guest, rdma" "is refused with those that do"
done_testing
