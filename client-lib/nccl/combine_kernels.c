// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/nccl/combine_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/nccl/nccl_failure.h"

enum { THREADS = 256, BLOCKS_MAX = 512, NUMBERS_EACH = 4 };

// The text that combine_ptx.py has written, ended by a zero byte.
__asm__(".pushsection .rodata\n"
        "combine_ptx: .incbin \"" COMBINE_PTX "\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char combine_ptx[] __attribute__((visibility("hidden")));

static const char entry[] = ".visible .entry ";

// Returns the PTX of one kernel, after the head that all kernels share. The caller frees it. NULL:
// there is no such kernel, or no memory.
static char *text_of_kernel(const char *name)
{
    char wanted[64];
    const char *begin = strstr(combine_ptx, entry), *end;
    size_t head = (size_t)(begin - combine_ptx);
    snprintf(wanted, sizeof(wanted), "%s%s(", entry, name);
    begin = strstr(begin, wanted);
    if (!begin)
        return NULL;
    end = strstr(begin + 1, entry);
    size_t size = end ? (size_t)(end - begin) : strlen(begin);
    char *text = malloc(head + size + 1);
    if (!text)
        return NULL;
    memcpy(text, combine_ptx, head);
    memcpy(text + head, begin, size);
    text[head + size] = '\0';
    return text;
}

ncclResult_t combine_load(struct combine_kernels *kernels, ncclDataType_t type,
                          enum combining combining)
{
    char name[40];
    CUmodule *module = &kernels->modules[type][combining];
    if (*module)
        return ncclSuccess;
    number_kernel_name(type, combining, name);
    char *text = text_of_kernel(name);
    if (!text)
        return nccl_refuse(ncclInternalError, "there is no kernel %s, or no memory for it", name);
    ncclResult_t result = CU(cuModuleLoadData(module, text));
    free(text);
    return result ? result
                  : CU(cuModuleGetFunction(&kernels->functions[type][combining], *module, name));
}

ncclResult_t combine_launch(const struct combine_kernels *kernels, ncclDataType_t type,
                            enum combining combining, CUdeviceptr to, CUdeviceptr a, CUdeviceptr b,
                            size_t count, CUstream stream)
{
    unsigned long long numbers = count;
    size_t blocks = (count + THREADS * NUMBERS_EACH - 1) / (THREADS * NUMBERS_EACH);
    void *parameters[] = {&to, &a, &b, &numbers};
    return CU(cuLaunchKernel(kernels->functions[type][combining],
                             (unsigned int)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX), 1, 1,
                             THREADS, 1, 1, 0, stream, parameters, NULL));
}

void combine_unload(struct combine_kernels *kernels)
{
    for (int type = 0; type < ncclNumTypes; type++)
        for (int combining = 0; combining < COMBININGS; combining++)
            if (kernels->modules[type][combining])
                loaded.cuModuleUnload(kernels->modules[type][combining]);
}
