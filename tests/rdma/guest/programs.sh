#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: every program of tests/programs over verbs.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
start_rdma_box
run=(over_rdma)
# These have machines of their own (copies.sh, graphs.sh).
run_programs copies managed managed-random managed-system managed-variables textures
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
