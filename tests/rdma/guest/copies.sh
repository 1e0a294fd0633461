#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: the program of all sizes and alignments, which moves a gigabyte at an emulator's speed.
. "$TOP/tests/rdma/guest/common.sh"
PROGRAM_SECONDS=960
. "$TOP/tests/session/programs.sh"
start_rdma_box
run=(over_rdma)
run_program "C: copies" "$BUILD/tests/programs/copies"
done_testing
