#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The programs with graphs run through a box as on a GPU of this host, over shared memory and over tcp.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
export RGPU_SIM_STALE=crash # no program has a worker name what is gone
start_box
for transport in shm tcp; do
    run=(on_box RGPU_TRANSPORT=$transport)
    for program in "$BUILD"/tests/programs/graph/*; do
        run_program "$transport: ${program##*/}" "$program"
    done
    run_program "$transport: handles of what is gone" "$BUILD/tests/graph-handles"
done
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
