#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copies into and from memory that faults: the program's handler runs as it would if the program itself touched the page,
# and the copy goes on. Memory that is gone ends the program by SIGSEGV, as a copy by NVIDIA's driver (580) does.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
for transport in shm tcp; do
    run=(on_box "RGPU_TRANSPORT=$transport")
    run_program "$transport: pages that a handler opens" "$BUILD/tests/rough-process" barriers
done
run=(on_box RGPU_TRANSPORT=tcp RGPU_TCP_CONNECTIONS=4)
run_program "tcp, four connections: pages that a handler opens" "$BUILD/tests/rough-process" barriers
for transport in shm tcp; do
    for bytes in 4096 1048576 33554432; do
        status=0
        on_box "RGPU_TRANSPORT=$transport" "$BUILD/tests/rough-process" gone "$bytes" >"$TMP/out" 2>&1 || status=$?
        is $status 139 "$transport: a copy of $bytes bytes into memory that is gone ends the program by SIGSEGV"
    done
done
run=(on_box)
run_program "the box serves the next program" "$BUILD/tests/programs/saxpy"
done_testing
