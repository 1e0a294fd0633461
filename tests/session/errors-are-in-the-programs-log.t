#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What fails is in the log that a program asks for (cuLogs...), although its GPU is elsewhere.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
run=(on_box RGPU_TRANSPORT=shm)
run_program "messages are told, kept and read" "$BUILD/tests/error-logs"
CUDA_LOG_FILE=$TMP/log run_program "and written as they come" "$BUILD/tests/error-logs"
like "$(head -n 1 "$TMP/log")" '\[CUDA\]\[E\] Returning 3 \(CUDA_ERROR_NOT_INITIALIZED\) from cuMemFree_v2$' "to the file that CUDA_LOG_FILE names"
done_testing
