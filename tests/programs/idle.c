// SPDX-License-Identifier: BSD-3-Clause
// Is linked with the driver library and never calls it.
#include "tests/programs/driver.h"

int main(int argc, char **argv)
{
    const char *name = NULL;
    if (argc > 1000)
        cuGetErrorName(CUDA_SUCCESS, &name);
    pass("did nothing");
    return done();
}
