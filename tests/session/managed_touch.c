// SPDX-License-Identifier: BSD-3-Clause
// Touches managed memory of which the GPU has the contents, once a line has come from standard
// input, or (`busy`) at once, while the GPU works. With `untouched` it only has a gigabyte.
#include "tests/programs/driver.h"

#include <string.h>

int main(int argc, char **argv)
{
    CUdeviceptr address;
    char line[16];
    struct gpu gpu = open_gpu(0);
    if (argc > 1 && !strcmp(argv[1], "untouched")) {
        CHECK(cuMemAllocManaged(&address, (size_t)1 << 30, CU_MEM_ATTACH_GLOBAL));
        printf("ready\n");
        fflush(stdout);
        return fgets(line, sizeof(line), stdin) ? 0 : 3;
    }
    CHECK(cuMemAllocManaged(&address, 1 << 20, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemsetD8(address, 7, 1 << 20));
    CHECK(cuCtxSynchronize());
    if (argc > 1)
        (void)hold_stream(&gpu, NULL);
    printf("ready\n");
    fflush(stdout);
    if (argc == 1 && !fgets(line, sizeof(line), stdin))
        return 3;
    int value = *(volatile unsigned char *)(uintptr_t)address;
    printf("touched %d\n", value);
    return 0;
}
