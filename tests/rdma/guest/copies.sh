#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: the program of all alignments, in sizes up to several blocks.
. "$TOP/tests/rdma/guest/common.sh"
PROGRAM_SECONDS=480
. "$TOP/tests/session/programs.sh"
start_rdma_box
run=(over_rdma)
run_program "C: copies of up to 5 MiB" "$BUILD/tests/programs/copies" 5
done_testing
