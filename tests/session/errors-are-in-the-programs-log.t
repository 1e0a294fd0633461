#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What fails is in the log that a program asks for (cuLogs...), although its GPU is elsewhere.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
run=(on_box RGPU_TRANSPORT=shm)
run_program "messages are told, kept and read" "$BUILD/tests/error-logs"
done_testing
