// SPDX-License-Identifier: BSD-3-Clause
// Executes commands from standard input, one word a line, and prints their results:
//
//     share        multiprocessors that it sees, and whether MPS is said to be in use
//     work         a kernel, and its end; the result
//     fault        a kernel that writes to an address that is not its own; the result
//     hang         a kernel that does not end
//     contexts     makes one beside the primary one; the result
//     alloc BYTES  the result; what was allocated stays
//     free         bytes that are free, and all bytes
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/driver.h"

static struct gpu gpu;

static int attribute(CUdevice_attribute which)
{
    int value = -1;

    CHECK(cuDeviceGetAttribute(&value, which, gpu.device));
    return value;
}

static CUresult begin(const char *name, CUdeviceptr address, unsigned value)
{
    CUfunction function;
    CUresult result = cuModuleGetFunction(&function, gpu.module, name);

    if (!result)
        result =
            cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&address, &value}, NULL);
    return result;
}

static CUresult run(const char *name, CUdeviceptr address, unsigned value)
{
    CUresult result = begin(name, address, value);

    return result ? result : cuCtxSynchronize();
}

static CUresult hang(void)
{
    CUdeviceptr flag;
    CUresult result = cuMemAlloc(&flag, 4);

    if (!result)
        result = cuMemsetD32(flag, 0, 1);
    return result ? result : begin("wait_flag", flag, 0);
}

static CUresult another_context(void)
{
    CUcontext other;
    CUresult result = cuCtxCreate_v2(&other, 0, gpu.device);

    return result ? result : cuCtxDestroy(other);
}

static void say_free(void)
{
    size_t left = 0, all = 0;
    CUresult result = cuMemGetInfo(&left, &all);

    printf("free %d %zu %zu\n", (int)result, left, all);
}

static void obey(char *line)
{
    static CUdeviceptr word;
    char *rest = NULL, *command = strtok_r(line, " \n", &rest);
    const char *number = strtok_r(NULL, " \n", &rest);
    CUdeviceptr memory;
    CUresult result = CUDA_SUCCESS;

    if (!command)
        return;
    if (!word)
        result = cuMemAlloc(&word, 4);
    if (!strcmp(command, "share"))
        printf("share %d mps=%d\n", attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
               attribute(CU_DEVICE_ATTRIBUTE_MPS_ENABLED));
    else if (!strcmp(command, "work"))
        printf("work %d\n", (int)(result ? result : run("poke", word, 1)));
    else if (!strcmp(command, "fault"))
        printf("fault %d\n", (int)run("poke", 0x1000, 1));
    else if (!strcmp(command, "hang"))
        printf("hang %d\n", (int)hang());
    else if (!strcmp(command, "contexts"))
        printf("contexts %d\n", (int)another_context());
    else if (!strcmp(command, "alloc") && number)
        printf("alloc %d\n", (int)cuMemAlloc(&memory, strtoull(number, NULL, 10)));
    else if (!strcmp(command, "free"))
        say_free();
    else
        printf("what is %s?\n", command);
}

int main(void)
{
    char line[256];

    setvbuf(stdout, NULL, _IOLBF, 0);
    gpu = open_gpu(0);
    printf("ready\n");
    while (fgets(line, sizeof(line), stdin))
        obey(line);
    return 0;
}
