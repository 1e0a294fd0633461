// SPDX-License-Identifier: BSD-3-Clause
// The CUDA C++ source of printing.ptx. It is a separate module, because the driver and rgpu treat a
// module that may print differently: loading it sets up a buffer, and each synchronization empties
// the buffer.
#include <cstdio>
extern "C" __global__ void hello(int number)
{
    printf("hello %d from block %d thread %d: %s %.2f\n", number, blockIdx.x, threadIdx.x, "text",
           number * 0.5);
}
