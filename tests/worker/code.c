// SPDX-License-Identifier: BSD-3-Clause
// Code counts against a budget where the driver loads it, and until it is unloaded. The software
// GPU takes 16 bytes for each byte of a text, and ends the worker where it takes more than the
// budget and its contexts.
#include <stdlib.h>
#include <string.h>

#include "tests/worker/peer.h"

enum { MIB = 1024 * 1024, BUDGET = 64 * MIB, CONTEXT = 8 * MIB, TEXT = 192 * 1024, MANY = 40 };
enum { COUNTED = 32 * TEXT }; // for a text

static int64_t left(struct peer *peer)
{
    struct reply_cuMemGetInfo_v2 reply = {0};

    if (ASK_REPLY(peer, cuMemGetInfo_v2, &reply))
        bail("cuMemGetInfo fails");
    return (int64_t)reply.free;
}

// A text of TEXT bytes with one kernel.
static uint32_t send_text(struct peer *peer)
{
    static const char head[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry f() { ret; }\n//";
    static uint32_t image = 1000;
    static char text[TEXT];
    enum { PIECE = 32 * 1024 };

    memset(text, 'x', sizeof(text));
    memcpy(text, head, sizeof(head) - 1);
    POST(peer, image_begin, .image = ++image, .size = sizeof(text));
    for (uint32_t at = 0; at < sizeof(text); at += PIECE)
        POST_TAIL(peer, image_data, text + at, PIECE, .image = image, .offset = at, .bytes = PIECE);
    return image;
}

static CUresult load_module(struct peer *peer, uint64_t *module)
{
    uint32_t image = send_text(peer);

    *module = peer_mint(peer, HANDLE_MODULE);
    CUresult result = ASK(peer, module_load, .module = *module, .image = image);
    POST(peer, image_free, .image = image);
    return result;
}

static uint64_t load_library(struct peer *peer)
{
    uint64_t library = peer_mint(peer, HANDLE_LIBRARY);
    uint32_t image = send_text(peer);

    if (ASK(peer, library_load, .library = library, .image = image))
        bail("a library is not loaded");
    POST(peer, image_free, .image = image);
    return library;
}

static uint64_t kernel_of(struct peer *peer, uint64_t library)
{
    struct args_cuLibraryGetKernel get = {.pKernel = peer_mint(peer, HANDLE_KERNEL),
                                          .library = library,
                                          .name_length = 2};

    if (peer_ask(peer, OP_cuLibraryGetKernel, &get, sizeof(get), "f", 2, NULL, 0, NULL, 0, NULL))
        bail("a library has no kernel");
    return get.pKernel;
}

static CUresult run(struct peer *peer, uint64_t function)
{
    CUresult result = ASK(peer, launch, .function = function, .grid_x = 1, .grid_y = 1, .grid_z = 1,
                          .block_x = 1, .block_y = 1, .block_z = 1);

    return result ? result : ASK(peer, cuCtxSynchronize);
}

static CUresult launch(struct peer *peer, uint64_t library)
{
    return run(peer, kernel_of(peer, library));
}

static CUresult get_function(struct peer *peer, uint64_t library)
{
    return ASK(peer, cuKernelGetFunction, .pFunc = peer_mint(peer, HANDLE_FUNCTION),
               .kernel = kernel_of(peer, library));
}

static CUresult get_module(struct peer *peer, uint64_t library)
{
    return ASK(peer, cuLibraryGetModule, .pMod = peer_mint(peer, HANDLE_MODULE),
               .library = library);
}

// The driver loads a kernel to answer queries of its attributes.
static CUresult get_attribute(struct peer *peer, uint64_t library)
{
    struct reply_cuKernelGetAttribute reply = {0};

    return ASK_REPLY(peer, cuKernelGetAttribute, &reply, .attrib = CU_FUNC_ATTRIBUTE_NUM_REGS,
                     .kernel = kernel_of(peer, library), .dev = 0);
}

static CUresult load_code(struct peer *peer, uint64_t library)
{
    CUresult result = ASK(peer, library_code_load, .library = library);

    return result ? result : launch(peer, library);
}

static CUresult add_node(struct peer *peer, uint64_t library)
{
    uint64_t graph = peer_mint(peer, HANDLE_GRAPH);
    struct wire_kernel_node node = {.function = kernel_of(peer, library),
                                    .context = peer->context,
                                    .grid = {1, 1, 1},
                                    .block = {1, 1, 1}};

    POST(peer, cuGraphCreate, .phGraph = graph);
    POST_TAIL(peer, graph_add, &node, sizeof(node), .node = peer_mint(peer, HANDLE_NODE),
              .graph = graph, .type = CU_GRAPH_NODE_TYPE_KERNEL, .bytes = sizeof(node));
    CUresult result = ASK(peer, cuCtxSynchronize);
    result = result ? result : peer->deferred;
    peer->deferred = CUDA_SUCCESS;
    POST(peer, cuGraphDestroy, .hGraph = graph);
    return result;
}

static void modules(struct peer *peer)
{
    uint64_t list[MANY];
    int count = 0;

    while (count < MANY && load_module(peer, &list[count]) == CUDA_SUCCESS)
        count++;
    is_int(count, BUDGET / COUNTED, "the code of modules counts with what it may take");
    for (int i = 0; i < count; i++)
        if (ASK(peer, cuModuleUnload, .hmod = list[i]))
            bail("a module is not unloaded");
    is_int(left(peer), BUDGET, "and is given back");
}

// Uses as many libraries as fit, each once more in the end, and unloads them.
static void libraries(struct peer *peer, CUresult (*use)(struct peer *, uint64_t), const char *how)
{
    uint64_t list[MANY];
    int used = 0;

    for (int i = 0; i < MANY; i++)
        list[i] = load_library(peer);
    is_int(left(peer), BUDGET, "libraries count nothing until they are used");
    while (used < MANY && use(peer, list[used]) == CUDA_SUCCESS)
        used++;
    is_int(used, BUDGET / COUNTED, "by way of %s no more than the budget allows", how);
    is_int(left(peer), BUDGET - used * (int64_t)COUNTED, "each counts");
    is_int(use(peer, list[0]), CUDA_SUCCESS, "one is used again");
    is_int(left(peer), BUDGET - used * (int64_t)COUNTED, "and counts once");
    for (int i = 0; i < MANY; i++)
        if (ASK(peer, cuLibraryUnload, .library = list[i]))
            bail("a library is not unloaded");
    is_int(left(peer), BUDGET, "all of them are given back");
}

static void contexts(struct peer *peer)
{
    uint64_t library = load_library(peer), kernel = kernel_of(peer, library);
    uint64_t first = peer->context, other = peer_mint(peer, HANDLE_CONTEXT);

    is_int(ASK(peer, cuCtxCreate_v4, .pctx = other, .dev = 0), CUDA_SUCCESS, "a second context");
    for (int i = 0; i < 2; i++) {
        is_int(run(peer, kernel), CUDA_SUCCESS, "a kernel is used in a context");
        is_int(left(peer), BUDGET - CONTEXT - (i + 1) * (int64_t)COUNTED, "and counts in each");
        peer->context = other;
    }
    peer->context = first;
    is_int(ASK(peer, cuCtxDestroy_v2, .ctx = other), CUDA_SUCCESS, "the second context ends");
    is_int(left(peer), BUDGET - COUNTED, "with its code");
    is_int(ASK(peer, cuDevicePrimaryCtxReset_v2, .dev = 0), CUDA_SUCCESS, "the first is reset");
    peer_retain(peer, 0);
    is_int(left(peer), BUDGET, "with the rest");
    is_int(run(peer, kernel), CUDA_SUCCESS, "the kernel is used again");
    is_int(left(peer), BUDGET - COUNTED, "and counts again");
    if (ASK(peer, cuLibraryUnload, .library = library))
        bail("a library is not unloaded");
    is_int(left(peer), BUDGET, "until its library is unloaded");
}

int main(void)
{
    struct peer peer;

    setenv("RGPU_SIM_CONTEXT_COST", "8M", 1);
    setenv("RGPU_SIM_LIMIT", "72M", 1);
    setenv("RGPU_SIM_PAGE", "2M", 1);
    setenv("RGPU_SIM_CODE", "16", 1);
    peer_start(&peer, &(struct peer_options){.budget = BUDGET});
    peer_retain(&peer, 0);
    modules(&peer);
    libraries(&peer, launch, "launches");
    libraries(&peer, get_function, "functions of kernels");
    libraries(&peer, get_attribute, "attributes of kernels");
    libraries(&peer, get_module, "their modules");
    libraries(&peer, load_code, "loading code at once");
    libraries(&peer, add_node, "nodes of graphs");
    contexts(&peer);
    peer_stop(&peer);
    return done();
}
