#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What NVIDIA's driver answers to each call with each argument wrong was recorded on a GPU (driver-580.txt.xz). The
# client library, through a box, and the software GPU give the same answers, but for differences that are meant
# (accepted.txt).
# seconds: 480
. "$(dirname "$0")/../lib.sh"

agrees() {
    python3 -B "$TOP/tests/errors/compare.py" "$1" "$TMP/driver" \
        "$TOP/tests/errors/accepted.txt" "$TOP/proto/cuda.spec" "$2"
}
record() {
    local status=0
    "$@" "$BUILD/tests/errors-record" --timeout 120 >"$TMP/answers" 2>"$TMP/record.err" || status=$?
    [ $status = 0 ] || tail -n 5 "$TMP/record.err"
    return $status
}

xz -dc "$TOP/tests/errors/driver-580.txt.xz" >"$TMP/driver"
ok "the software GPU is asked everything" record natively
ok "and answers as the driver did" agrees sim "$TMP/answers"
sed 's/^cuStreamQuery hStream=garbage .*/cuStreamQuery hStream=garbage 0/' "$TMP/answers" >"$TMP/other"
fails "another answer would be noticed" agrees sim "$TMP/other"
like "$(cat "$TMP/ok.out")" '^cuStreamQuery hStream=garbage: the driver says 400, sim says 0$' "by its call and case"
start_box
ok "the client library is asked everything through a box" record on_box RGPU_TRANSPORT=shm
ok "and answers as the driver did" agrees client "$TMP/answers"
done_testing
