#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# seconds: 600
# One program in many surroundings (surroundings.sh), over each transport.
. "$(dirname "$0")/../lib.sh"
export RGPU_SIM_ADDRESSES=near
start_box
NEAR_BOX=$BOX
unset RGPU_SIM_ADDRESSES
start_box
run=(on_box)
. "$TOP/tests/session/surroundings.sh"
run_rows shm tcp
ok "the table has at least 90 surroundings" [ ${#rows[@]} -ge 180 ]
ok "the box serves the next program" on_box "$BUILD/tests/rough-process" tour
ok "the box is alive" kill -0 "$BOX_PID"
done_testing
