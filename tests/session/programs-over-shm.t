#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Unmodified programs run through a box with two software GPUs, over the transport shm.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
export RGPU_SIM_STALE=crash # no program has a worker name what is gone
start_box
run=(on_box RGPU_TRANSPORT=shm)
run_programs
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
