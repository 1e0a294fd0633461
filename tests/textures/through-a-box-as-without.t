#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What kernels read of textures and do to surfaces, and what is answered about objects, is the same through a box as
# without one, to the bit: the recorder's text over shared memory and over tcp is that of the software GPU itself.
. "$(dirname "$0")/../lib.sh"
record=("$BUILD/tests/textures-record")
# Values of objects, and what a driver leaves in fields that it does not write.
plain() { grep -av -e '^objects look like' -e '^answers .*: .* ' "$1"; }
LD_LIBRARY_PATH=$BUILD/lib/sim "${record[@]}" >"$TMP/native" 2>/dev/null
ok "the recorder says thousands of things" [ "$(wc -l <"$TMP/native")" -gt 2000 ]
start_box
for transport in shm tcp; do
    on_box RGPU_TRANSPORT=$transport "${record[@]}" >"$TMP/$transport" 2>"$TMP/$transport.err"
    if cmp -s <(plain "$TMP/native") <(plain "$TMP/$transport"); then
        pass "$transport: the same text"
    else
        fail "$transport: the same text"
        diff <(plain "$TMP/native") <(plain "$TMP/$transport") | cut -c1-150 | head -n 20 | sed 's/^/#   /' >&2
    fi
done
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
