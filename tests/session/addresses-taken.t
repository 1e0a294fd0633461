#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The box's driver chooses addresses of device memory. Where the program has memory of its own at all of them, the client
# chooses others.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box --devices sim:1 --warm-workers 0 # the context of a next one takes memory of the GPU, which the program compares
for transport in shm tcp; do
    run=(on_box RGPU_TRANSPORT=$transport)
    run_program "a program with memory of its own where the box allocates, over $transport" "$BUILD/tests/addresses-taken"
done
on_box RGPU_TRANSPORT=tcp RGPU_LOG=info "$BUILD/tests/addresses-taken" >/dev/null 2>"$TMP/log" || true
logs "$TMP/log" "device memory moves" "the log says that it did"
done_testing
