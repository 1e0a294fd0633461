// SPDX-License-Identifier: BSD-3-Clause
#include "tests/errors/fixture.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__asm__(".pushsection .rodata\n"
        "kernels_ptx: .incbin \"tests/programs/kernels.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char kernels_ptx[] __attribute__((visibility("hidden")));

static void *library;
static CUcontext context;
static bool is_open;

static struct objects {
    CUcontext context;
    CUstream stream;
    CUevent event;
    CUmodule module;
    CUfunction function;
    CUlibrary library;
    CUkernel kernel;
    CUlinkState link;
    CUmemoryPool pool;
    CUarray array;
    CUmipmappedArray mipmap;
    CUtexref texture_reference;
    CUtexObject texture;
    CUsurfObject surface;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUuserObject user_object;
    CUmemGenericAllocationHandle allocation;
    CUgreenCtx green;
    CUdevResourceDesc resources;
    CUlogsCallbackHandle log;
    CUgraphConditionalHandle conditional;
    CUdeviceptr memory;
} good, stale, foreign;

// Nodes of the kinds that have calls of their own.
static struct {
    const char *in_call;
    CUgraphNode node;
} nodes[] = {{"KernelNode", 0},    {"MemcpyNode", 0},     {"MemsetNode", 0},
             {"HostNode", 0},      {"ChildGraphNode", 0}, {"EventRecordNode", 0},
             {"EventWaitNode", 0}, {"MemAllocNode", 0},   {"BatchMemOpNode", 0}};
static void *pinned;
static CUgraph child_graph;

static CUresult not_there(void)
{
    return CUDA_ERROR_NOT_FOUND;
}

void fixture_library(void)
{
    const char *name = getenv("RGPU_ERRORS_LIBRARY");
    library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
}

void *fixture_function(const char *name)
{
    void *function = dlsym(library, name);
    return function ? function : (void *)not_there;
}

bool fixture_has(const char *name)
{
    return dlsym(library, name);
}

static void ignore(void *argument)
{
}

static void ignore_log(void *data, CUlogLevel level, char *message, size_t length)
{
}

static void make_code(struct objects *o)
{
    DRIVER(cuModuleLoadData, &o->module, kernels_ptx);
    DRIVER(cuModuleGetFunction, &o->function, o->module, "empty");
    DRIVER(cuLibraryLoadData, &o->library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0);
    DRIVER(cuLibraryGetKernel, &o->kernel, o->library, "empty");
    DRIVER(cuLinkCreate_v2, 0, NULL, NULL, &o->link);
}

static void make_memory(struct objects *o, CUdevice device)
{
    CUmemPoolProps pool = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                           .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    CUmemAllocationProp allocation = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    CUDA_ARRAY_DESCRIPTOR array = {64, 64, CU_AD_FORMAT_FLOAT, 1};
    CUDA_ARRAY3D_DESCRIPTOR mipmap = {64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    DRIVER(cuMemAlloc_v2, &o->memory, 1 << 20);
    DRIVER(cuMemPoolCreate, &o->pool, &pool);
    DRIVER(cuMemCreate, &o->allocation, 2 << 20, &allocation, 0);
    DRIVER(cuArrayCreate_v2, &o->array, &array);
    DRIVER(cuMipmappedArrayCreate, &o->mipmap, &mipmap, 2);
    DRIVER(cuTexRefCreate, &o->texture_reference);
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
                                   .res = {.array = {.hArray = o->array}}};
    CUDA_TEXTURE_DESC texture = {.flags = 0};
    if (o->array)
        DRIVER(cuTexObjectCreate, &o->texture, &resource, &texture, NULL);
}

static void make_graph(struct objects *o)
{
    DRIVER(cuGraphCreate, &o->graph, 0);
    if (!o->graph)
        return;
    DRIVER(cuGraphAddEmptyNode, &o->node, o->graph, NULL, 0);
    DRIVER(cuGraphInstantiateWithFlags, &o->exec, o->graph, 0);
    DRIVER(cuUserObjectCreate, &o->user_object, &nodes, ignore, 4,
           CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
}

// The nodes that have calls of their own, in a second graph: the first stays without a kernel.
static void make_nodes(void)
{
    CUgraph graph = NULL;
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = good.function,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = good.memory,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = good.memory + 65536,
                          .WidthInBytes = 64,
                          .Height = 1,
                          .Depth = 1};
    CUDA_MEMSET_NODE_PARAMS set = {.dst = good.memory, .elementSize = 4, .width = 1, .height = 1};
    CUDA_HOST_NODE_PARAMS host = {.fn = ignore};
    CUDA_MEM_ALLOC_NODE_PARAMS allocation = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
        .bytesize = 4096};
    CUstreamBatchMemOpParams operation = {
        .writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = good.memory}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {.ctx = context, .count = 1, .paramArray = &operation};
    DRIVER(cuGraphCreate, &graph, 0);
    DRIVER(cuGraphCreate, &child_graph, 0);
    if (!graph)
        return;
    DRIVER(cuGraphAddKernelNode_v2, &nodes[0].node, graph, NULL, 0, &kernel);
    DRIVER(cuGraphAddMemcpyNode, &nodes[1].node, graph, NULL, 0, &copy, context);
    DRIVER(cuGraphAddMemsetNode, &nodes[2].node, graph, NULL, 0, &set, context);
    DRIVER(cuGraphAddHostNode, &nodes[3].node, graph, NULL, 0, &host);
    DRIVER(cuGraphAddChildGraphNode, &nodes[4].node, graph, NULL, 0, child_graph);
    DRIVER(cuGraphAddEventRecordNode, &nodes[5].node, graph, NULL, 0, good.event);
    DRIVER(cuGraphAddEventWaitNode, &nodes[6].node, graph, NULL, 0, good.event);
    DRIVER(cuGraphAddMemAllocNode, &nodes[7].node, graph, NULL, 0, &allocation);
    DRIVER(cuGraphAddBatchMemOpNode, &nodes[8].node, graph, NULL, 0, &batch);
    DRIVER(cuGraphConditionalHandleCreate, &good.conditional, graph, context, 0, 0);
}

static void make_green(struct objects *o, CUdevice device)
{
    CUdevResource all = {0}, part = {0}, rest = {0};
    unsigned groups = 1;
    if (DRIVER(cuDeviceGetDevResource, device, &all, CU_DEV_RESOURCE_TYPE_SM) ||
        DRIVER(cuDevSmResourceSplitByCount, &part, &groups, &all, &rest, 0, 8))
        return;
    DRIVER(cuDevResourceGenerateDesc, &o->resources, &part, 1);
    if (o->resources)
        DRIVER(cuGreenCtxCreate, &o->green, o->resources, device, CU_GREEN_CTX_DEFAULT_STREAM);
}

static void make_in_context(struct objects *o, CUdevice device)
{
    DRIVER(cuStreamCreate, &o->stream, CU_STREAM_NON_BLOCKING);
    DRIVER(cuEventCreate, &o->event, 0);
    make_code(o);
    make_memory(o, device);
}

static void destroy(struct objects *o)
{
    DRIVER(cuStreamDestroy_v2, o->stream);
    DRIVER(cuEventDestroy_v2, o->event);
    DRIVER(cuModuleUnload, o->module);
    DRIVER(cuLibraryUnload, o->library);
    DRIVER(cuLinkDestroy, o->link);
    DRIVER(cuMemPoolDestroy, o->pool);
    if (o->texture)
        DRIVER(cuTexObjectDestroy, o->texture);
    if (o->array)
        DRIVER(cuArrayDestroy, o->array);
    if (o->mipmap)
        DRIVER(cuMipmappedArrayDestroy, o->mipmap);
    if (o->allocation)
        DRIVER(cuMemRelease, o->allocation);
    DRIVER(cuMemFree_v2, o->memory);
    if (o->exec)
        DRIVER(cuGraphExecDestroy, o->exec);
    if (o->graph)
        DRIVER(cuGraphDestroy, o->graph);
    DRIVER(cuCtxDestroy_v2, o->context);
}

bool fixture_make(void)
{
    CUdevice device = 0;
    if (DRIVER(cuInit, 0) || DRIVER(cuDeviceGet, &device, 0) ||
        DRIVER(cuDevicePrimaryCtxRetain, &context, device) || DRIVER(cuCtxSetCurrent, context))
        return false;
    is_open = true;
    good.context = context;
    make_in_context(&good, device);
    DRIVER(cuEventRecord, good.event, good.stream);
    make_graph(&good);
    make_nodes();
    make_green(&good, device);
    DRIVER(cuLogsRegisterCallback, ignore_log, NULL, &good.log);
    DRIVER(cuMemAllocHost_v2, &pinned, 1 << 16);
    return true;
}

// Few cases need objects that are destroyed or of another context, so the first such case creates
// them.
static void make_stale(void)
{
    make_in_context(&stale, 0);
    make_graph(&stale);
    DRIVER(cuCtxCreate_v2, &stale.context, 0, 0);
    DRIVER(cuCtxPopCurrent_v2, NULL);
    destroy(&stale);
}

static void make_foreign(void)
{
    DRIVER(cuCtxCreate_v2, &foreign.context, 0, 0);
    make_in_context(&foreign, 0);
    DRIVER(cuCtxPopCurrent_v2, NULL);
}

static const struct objects *objects_of(enum which which)
{
    static bool made[FOREIGN + 1];
    if (is_open && which != GOOD && !made[which]) {
        made[which] = true;
        which == STALE ? make_stale() : make_foreign();
    }
    return which == GOOD ? &good : which == STALE ? &stale : &foreign;
}

bool fixture_intact(int *later)
{
    CUcontext current = NULL;
    CUresult result = DRIVER(cuCtxSynchronize);
    if (result == CUDA_SUCCESS)
        result = DRIVER(cuStreamSynchronize, good.stream);
    *later = result;
    return result == CUDA_SUCCESS && DRIVER(cuCtxGetCurrent, &current) == CUDA_SUCCESS &&
           current == context;
}

static CUgraphNode node_for(const char *call, const struct objects *o)
{
    for (unsigned i = 0; o == &good && i < sizeof nodes / sizeof *nodes; i++)
        if (strstr(call, nodes[i].in_call) && !strstr(call, "Add"))
            return nodes[i].node;
    return o->node;
}

uint64_t fixture_handle(const char *type, const char *call, enum which which)
{
    const struct objects *o = objects_of(which);
    const struct {
        const char *type;
        uint64_t handle;
    } rows[] = {
        {"CUcontext", (uintptr_t)o->context},
        {"CUstream", (uintptr_t)o->stream},
        {"CUevent", (uintptr_t)o->event},
        {"CUmodule", (uintptr_t)o->module},
        {"CUfunction", (uintptr_t)o->function},
        {"CUlibrary", (uintptr_t)o->library},
        {"CUkernel", (uintptr_t)o->kernel},
        {"CUlinkState", (uintptr_t)o->link},
        {"CUmemoryPool", (uintptr_t)o->pool},
        {"CUarray", (uintptr_t)o->array},
        {"CUmipmappedArray", (uintptr_t)o->mipmap},
        {"CUtexref", (uintptr_t)o->texture_reference},
        {"CUtexObject", o->texture},
        {"CUsurfObject", o->surface},
        {"CUgraph", (uintptr_t)o->graph},
        {"CUgraphNode", (uintptr_t)node_for(call, o)},
        {"CUgraphExec", (uintptr_t)o->exec},
        {"CUuserObject", (uintptr_t)o->user_object},
        {"CUmemGenericAllocationHandle", o->allocation},
        {"CUgreenCtx", (uintptr_t)o->green},
        {"CUdevResourceDesc", (uintptr_t)o->resources},
        {"CUlogsCallbackHandle", (uintptr_t)o->log},
        {"CUgraphConditionalHandle", o->conditional},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].type, type))
            return rows[i].handle;
    return 0;
}

CUdeviceptr fixture_memory(enum which which)
{
    return objects_of(which)->memory;
}

void *fixture_pinned(void)
{
    return pinned;
}

const char *fixture_image(void)
{
    return kernels_ptx;
}

CUgraph fixture_child_graph(void)
{
    return child_graph;
}
