# SPDX-License-Identifier: BSD-3-Clause
"""Managed memory from Python while its faulthandler is on; then a fault of Python's own, which is to be told."""
import ctypes
import faulthandler
import sys

early = sys.argv[1] == "early"
if early:
    faulthandler.enable()
cuda = ctypes.CDLL("libcuda.so.1")


def check(result):
    if result:
        sys.exit(f"result {result}")


SIZE = 300000
context, device, address = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64()
check(cuda.cuInit(0))
check(cuda.cuDeviceGet(ctypes.byref(device), 0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuMemAllocManaged(ctypes.byref(address), ctypes.c_size_t(SIZE), 1))
if not early:
    faulthandler.enable()
memory = (ctypes.c_ubyte * SIZE).from_address(address.value)
for value in (1, 2, 3):
    check(cuda.cuMemsetD8_v2(address, ctypes.c_ubyte(value), ctypes.c_size_t(SIZE)))
    check(cuda.cuCtxSynchronize())
    assert bytes(memory) == bytes([value]) * SIZE
    memory[5] = 77
print("managed memory was used", flush=True)
ctypes.string_at(8)
