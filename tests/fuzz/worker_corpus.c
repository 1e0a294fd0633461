// SPDX-License-Identifier: BSD-3-Clause
// Writes sequences of requests into a directory: the corpus of fuzz-worker_request. To be run again
// when proto/cuda.spec changes. usage: worker-corpus DIRECTORY
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_ops.h"
#include "proto/wire.h"

#define HANDLE(type, index) ((uint64_t)(type) << 56 | UINT64_C(1) << 28 | (index))

enum { CONTEXT = 1, STREAM = 2, EVENT = 3 };

static const char *directory;
static uint8_t sequence[64 * 1024];
static size_t used;

static void add(unsigned op, const void *args, size_t size, const void *tail, size_t tail_size)
{
    size_t whole = sizeof(struct wire_request) + size + ((tail_size + 7) & ~(size_t)7);
    struct wire_request request = {.size = (uint32_t)whole,
                                   .op = (uint16_t)op,
                                   .call = op,
                                   .context = HANDLE(HANDLE_CONTEXT, CONTEXT)};

    memcpy(sequence + used, &request, sizeof(request));
    memcpy(sequence + used + sizeof(request), args, size);
    if (tail_size)
        memcpy(sequence + used + sizeof(request) + size, tail, tail_size);
    used += whole;
}

#define ADD(op, ...) \
    add(OP_##op, &(struct args_##op){__VA_ARGS__}, sizeof(struct args_##op), NULL, 0)
#define ADD_TAIL(op, tail, tail_size, ...) \
    add(OP_##op, &(struct args_##op){__VA_ARGS__}, sizeof(struct args_##op), tail, tail_size)

static void write_sequence(const char *name)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(sequence, 1, used, file) != used || fclose(file)) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(1);
    }
    memset(sequence, 0, sizeof(sequence));
    used = 0;
}

static void memory(void)
{
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = (void *)8192,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .WidthInBytes = 16,
                          .Height = 2,
                          .Depth = 1,
                          .srcPitch = 16,
                          .dstPitch = 32};

    ADD(cuMemAlloc_v2, .bytesize = 4096);
    ADD(cuMemAllocPitch_v2, .WidthInBytes = 100, .Height = 10, .ElementSizeBytes = 4);
    ADD(cuMemAllocAsync, .bytesize = 4096, .hStream = HANDLE(HANDLE_STREAM, STREAM));
    ADD(cuMemGetInfo_v2);
    ADD(cuMemFree_v2, .dptr = 4096);
    write_sequence("allocations");
    ADD(copy_to_device, .dst = 4096, .host = 8192, .size = 64);
    ADD(copy_from_device, .src = 4096, .host = 8192, .size = 64);
    ADD(copy_3d, .copy = copy, .stream = 1);
    ADD(copy_peer_3d, .copy = copy, .dst_context = HANDLE(HANDLE_CONTEXT, CONTEXT),
        .src_context = HANDLE(HANDLE_CONTEXT, CONTEXT));
    ADD(signal, .index = 3, .value = 1);
    ADD_TAIL(write_rows, "12345678", 8, .dst = 4096, .pitch = 4, .width = 4, .rows = 2, .bytes = 8);
    ADD(cuMemsetD2D32Async, .dstDevice = 4096, .dstPitch = 64, .Width = 4, .Height = 4);
    write_sequence("copies");
}

static void order(void)
{
    ADD(cuStreamCreateWithPriority, .phStream = HANDLE(HANDLE_STREAM, 9));
    ADD(cuEventCreate, .phEvent = HANDLE(HANDLE_EVENT, 10));
    ADD(cuEventRecord, .hEvent = HANDLE(HANDLE_EVENT, 10), .hStream = HANDLE(HANDLE_STREAM, 9));
    ADD(cuStreamWaitEvent, .hStream = HANDLE(HANDLE_STREAM, STREAM),
        .hEvent = HANDLE(HANDLE_EVENT, 10));
    ADD(cuStreamSynchronize, .hStream = HANDLE(HANDLE_STREAM, STREAM));
    ADD(cuEventElapsedTime_v2, .hStart = HANDLE(HANDLE_EVENT, EVENT),
        .hEnd = HANDLE(HANDLE_EVENT, 10));
    ADD(cuStreamDestroy_v2, .hStream = HANDLE(HANDLE_STREAM, 9));
    ADD(host_function_done, .token = 1);
    ADD(push_begin, .job = 1, .dst = 4096, .size = 64);
    ADD(pull, .job = 1, .src = 4096, .size = 64);
    write_sequence("streams");
}

static void code(void)
{
    static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                              ".visible .entry k(.param .u32 x) { ret; }\n";
    static const struct wire_option options[] = {{.option = CU_JIT_INFO_LOG_BUFFER, .value = 64},
                                                 {.option = CU_JIT_LOG_VERBOSE, .value = 1}};
    static const uint32_t parameter = 5;

    ADD(image_begin, .image = 1, .size = sizeof(ptx));
    ADD_TAIL(image_data, ptx, sizeof(ptx), .image = 1, .bytes = sizeof(ptx));
    ADD_TAIL(module_load, options, sizeof(options), .module = HANDLE(HANDLE_MODULE, 4), .image = 1,
             .bytes = sizeof(options), .reply_room = 4096);
    ADD_TAIL(cuModuleGetFunction, "k", 2, .hfunc = HANDLE(HANDLE_FUNCTION, 5),
             .hmod = HANDLE(HANDLE_MODULE, 4), .name_length = 2);
    ADD(function_info, .function = HANDLE(HANDLE_FUNCTION, 5), .reply_room = 256);
    ADD_TAIL(launch, &parameter, 4, .function = HANDLE(HANDLE_FUNCTION, 5), .grid_x = 1,
             .grid_y = 1, .grid_z = 1, .block_x = 1, .block_y = 1, .block_z = 1, .bytes = 4);
    ADD(module_functions, .module = HANDLE(HANDLE_MODULE, 4), .reply_room = 64);
    ADD(cuCtxSynchronize);
    ADD(cuModuleUnload, .hmod = HANDLE(HANDLE_MODULE, 4));
    write_sequence("module");
    ADD(image_begin, .image = 2, .size = sizeof(ptx));
    ADD_TAIL(image_data, ptx, sizeof(ptx), .image = 2, .bytes = sizeof(ptx));
    ADD_TAIL(link_create, options, sizeof(options), .state = HANDLE(HANDLE_LINK, 6),
             .bytes = sizeof(options));
    ADD(link_add, .state = HANDLE(HANDLE_LINK, 6), .image = 2, .type = CU_JIT_INPUT_PTX,
        .reply_room = 256);
    ADD(link_complete, .state = HANDLE(HANDLE_LINK, 6), .reply_room = 256);
    ADD(link_read, .state = HANDLE(HANDLE_LINK, 6), .reply_room = 256);
    ADD(cuLinkDestroy, .state = HANDLE(HANDLE_LINK, 6));
    write_sequence("link");
    ADD(image_begin, .image = 3, .size = sizeof(ptx));
    ADD_TAIL(image_data, ptx, sizeof(ptx), .image = 3, .bytes = sizeof(ptx));
    ADD(library_load, .library = HANDLE(HANDLE_LIBRARY, 7), .image = 3, .reply_room = 256);
    ADD_TAIL(cuLibraryGetKernel, "k", 2, .pKernel = HANDLE(HANDLE_KERNEL, 8),
             .library = HANDLE(HANDLE_LIBRARY, 7), .name_length = 2);
    ADD(library_kernels, .library = HANDLE(HANDLE_LIBRARY, 7), .reply_room = 64);
    ADD(cluster_occupancy, .function = HANDLE(HANDLE_KERNEL, 8), .grid_x = 1, .grid_y = 1,
        .grid_z = 1, .block_x = 32, .block_y = 1, .block_z = 1);
    ADD(cuLibraryUnload, .library = HANDLE(HANDLE_LIBRARY, 7));
    write_sequence("library");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: worker-corpus DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    memory();
    order();
    code();
    return 0;
}
