#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs run through a box whose driver has only the calls of CUDA 12.4 (driver 550): what they ask for is answered by
# what that driver has, or refused as a driver of that version refuses it.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
fails "a box with a driver that does not tell where a kernel's parameters lie" \
    timeout 60 "$BUILD/bin/rgpud" --standalone --devices sim:1 --listen 127.0.0.1:0 --driver "$BUILD/tests/older-driver/12020.so"
like "$(cat "$TMP/ok.out")" 'no cuFuncGetParamInfo: CUDA 12.4 .driver 550. or later is needed' "is told so"

start_box --driver "$BUILD/tests/older-driver/12040.so"
run=(on_box RGPU_TRANSPORT=shm)
run_programs
for program in "$BUILD"/tests/programs/graph/*; do run_program "C: ${program##*/}" "$program"; done
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
