#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A process that has the library loaded and never calls CUDA makes no connection, even where there
# is nothing to connect to.
. "$(dirname "$0")/../lib.sh"
start listener python3 -uc '
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print("port", s.getsockname()[1], flush=True)
while True:
    c, _ = s.accept()
    print("connected", c.recv(5), flush=True)
    c.close()'
await_line listener '^port ([0-9]+)'
BOX=127.0.0.1:${BASH_REMATCH[1]}
ok "a program without CUDA calls runs" on_box "$BUILD/tests/programs/idle"
ok "a program that is no CUDA program runs with the library preloaded" \
    on_box LD_PRELOAD="$BUILD/lib/libcuda.so.1" true
printf first >"/dev/tcp/${BOX/://}"
ok "the first connection" await_line listener '^connected'
like "$LINE" first "is that of the test itself"
fails "a program that calls CUDA fails there" on_box "$BUILD/tests/programs/saxpy"
ok "after it tried to connect" await_line listener '^connected'
done_testing
