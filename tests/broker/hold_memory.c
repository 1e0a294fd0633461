// SPDX-License-Identifier: BSD-3-Clause
// A CUDA program for the tests of budgets that executes commands from its standard input: "take
// BYTES", "managed BYTES", "free" (the last allocation), "graph BYTES" (allocates them by launching
// a graph), "end" (of that graph), "info", "total". Answers one line each.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/array_calls.h"
#include "tests/programs/graph_calls.h"
#include "tests/programs/texture_calls.h"

static CUgraphExec launched;
static CUdeviceptr taken_by_graph;

static CUresult launch_graph(size_t bytes)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
        .bytesize = bytes};
    CUgraph graph = new_graph();
    CUgraphNode node;
    CUresult result = cuGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc);
    launched = NULL;
    if (result == CUDA_SUCCESS)
        result = cuGraphInstantiate(&launched, graph, 0);
    if (result == CUDA_SUCCESS)
        result = cuGraphLaunch(launched, NULL);
    if (result == CUDA_SUCCESS)
        result = cuStreamSynchronize(NULL);
    if (result != CUDA_SUCCESS && launched)
        CHECK(cuGraphExecDestroy(launched));
    else if (result == CUDA_SUCCESS)
        taken_by_graph = alloc.dptr;
    CHECK(cuGraphDestroy(graph));
    return result;
}

static CUresult end_graph(CUdevice device)
{
    CUresult result = cuMemFree(taken_by_graph);
    if (result == CUDA_SUCCESS)
        result = cuGraphExecDestroy(launched);
    return result == CUDA_SUCCESS ? cuDeviceGraphMemTrim(device) : result;
}

static CUarray array;
static CUmipmappedArray mipmap;

static CUresult make(unsigned long mib, bool levels)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {4096, 64 * mib, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    return levels ? cuMipmappedArrayCreate(&mipmap, &d, 20) : cuArray3DCreate(&array, &d);
}

static CUresult drop(void)
{
    CUresult result = array ? cuArrayDestroy(array) : cuMipmappedArrayDestroy(mipmap);
    array = NULL;
    mipmap = NULL;
    return result;
}

// An object to read the array by.
static CUresult look_at_array(void)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC sampler = {.filterMode = CU_TR_FILTER_MODE_POINT};
    CUtexObject texture;
    resource.res.array.hArray = array;
    CUresult result = cuTexObjectCreate(&texture, &resource, &sampler, NULL);
    return result == CUDA_SUCCESS ? cuTexObjectDestroy(texture) : result;
}

int main(void)
{
    static CUdeviceptr held[1000];
    size_t count = 0, available, total;
    char line[128];
    CUdevice device;
    CUcontext context;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        if (!strncmp(line, "take ", 5)) {
            CUresult result = cuMemAlloc(&held[count], strtoull(line + 5, NULL, 10));
            count += result == CUDA_SUCCESS;
            puts(result_name(result));
        } else if (!strncmp(line, "managed ", 8)) {
            CUresult result =
                cuMemAllocManaged(&held[count], strtoull(line + 8, NULL, 10), CU_MEM_ATTACH_GLOBAL);
            count += result == CUDA_SUCCESS;
            puts(result_name(result));
        } else if (!strncmp(line, "look", 4)) {
            puts(result_name(look_at_array()));
        } else if (!strncmp(line, "free", 4) && count) {
            puts(result_name(cuMemFree(held[--count])));
        } else if (!strncmp(line, "graph ", 6)) {
            puts(result_name(launch_graph(strtoull(line + 6, NULL, 10))));
        } else if (!strncmp(line, "end", 3)) {
            puts(result_name(end_graph(device)));
        } else if (!strncmp(line, "array ", 6)) {
            puts(result_name(make(strtoul(line + 6, NULL, 10), false)));
        } else if (!strncmp(line, "levels ", 7)) {
            puts(result_name(make(strtoul(line + 7, NULL, 10), true)));
        } else if (!strncmp(line, "drop", 4)) {
            puts(result_name(drop()));
        } else if (!strncmp(line, "info", 4)) {
            CHECK(cuMemGetInfo(&available, &total));
            printf("free %zu total %zu\n", available, total);
        } else if (!strncmp(line, "total", 5)) {
            CHECK(cuDeviceTotalMem(&total, device));
            printf("total %zu\n", total);
        }
        fflush(stdout);
    }
    return 0;
}
