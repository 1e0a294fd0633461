// SPDX-License-Identifier: BSD-3-Clause
// What printing.ptx holds, in CUDA C++. It is a module of its own, as the code of a module that may print is
// treated otherwise by the driver and by us: loading it sets up a buffer, and each synchronization empties that.
#include <cstdio>
extern "C" __global__ void hello(int number)
{
    printf("hello %d from block %d thread %d: %s %.2f\n", number, blockIdx.x, threadIdx.x, "text",
           number * 0.5);
}
