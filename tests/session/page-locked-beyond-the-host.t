#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Page-locked memory that the host has not is refused before a page of it is made, and the session goes on.
. "$(dirname "$0")/../lib.sh"
requires python3
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which python3 does not do"
cat >"$TMP/ask.py" <<'EOF'
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
memory, context = ctypes.c_void_p(), ctypes.c_void_p()
def call(name, *arguments):
    return getattr(cuda, name)(*arguments)
assert call("cuInit", 0) == 0
assert call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0) == 0
assert call("cuCtxSetCurrent", context) == 0
for size in (1 << 40, 1 << 20):
    print(size, call("cuMemAllocHost_v2", ctypes.byref(memory), ctypes.c_size_t(size)))
EOF
start_box
for transport in shm tcp; do
    is "$(on_box RGPU_TRANSPORT=$transport python3 "$TMP/ask.py" 2>"$TMP/errors")" "1099511627776 2
1048576 0" "1 TiB are refused over $transport, and 1 MiB is there"
done
done_testing
