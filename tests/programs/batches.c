// SPDX-License-Identifier: BSD-3-Clause
// Calls with several operations: copies of several rectangles, memory operations of a stream, and
// synchronous calls on memory with the attribute SYNC_MEMOPS.
#include "tests/programs/driver.h"

enum { WIDTH = 48, HEIGHT = 5, DEPTH = 3, PITCH = 64, ROWS = 8 };

static CUmemcpy3DOperand operand(CUdeviceptr address, size_t row, size_t layer)
{
    CUmemcpy3DOperand side;
    memset(&side, 0, sizeof side);
    side.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    side.op.ptr.ptr = address;
    side.op.ptr.rowLength = row;
    side.op.ptr.layerHeight = layer;
    return side;
}

static CUDA_MEMCPY3D_BATCH_OP one_copy(CUmemcpy3DOperand from, CUmemcpy3DOperand to)
{
    CUDA_MEMCPY3D_BATCH_OP op;
    memset(&op, 0, sizeof op);
    op.src = from;
    op.dst = to;
    op.extent.width = WIDTH;
    op.extent.height = HEIGHT;
    op.extent.depth = DEPTH;
    op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    return op;
}

static unsigned wrong_bytes(const unsigned char *sparse, const unsigned char *dense)
{
    unsigned wrong = 0;
    for (int z = 0; z < DEPTH; z++)
        for (int y = 0; y < HEIGHT; y++)
            wrong += memcmp(sparse + (z * ROWS + y) * PITCH, dense + (z * HEIGHT + y) * WIDTH,
                            WIDTH) != 0;
    return wrong;
}

// From rows with room between them to the device, there closely packed, and back to the host.
static void rectangles(void)
{
    size_t sparse_size = PITCH * ROWS * DEPTH, dense_size = WIDTH * HEIGHT * DEPTH;
    unsigned char *sparse, *dense;
    CUdeviceptr data = device_alloc(dense_size);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocHost((void **)&sparse, sparse_size));
    CHECK(cuMemAllocHost((void **)&dense, dense_size));
    fill_random(sparse, sparse_size, 5);
    memset(dense, 0, dense_size);
    CUDA_MEMCPY3D_BATCH_OP ops[2] = {
        one_copy(operand((uintptr_t)sparse, PITCH, ROWS), operand(data, 0, 0)),
        one_copy(operand(data, 0, 0), operand((uintptr_t)dense, 0, 0)),
    };
    gives(cuMemcpy3DBatchAsync(2, ops, 0, stream), CUDA_SUCCESS,
          "two boxes are copied by one call");
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_bytes(sparse, dense), 0, "in their order, and right");
    ops[1].srcAccessOrder = (CUmemcpySrcAccessOrder)77;
    gives(cuMemcpy3DBatchAsync(2, ops, 0, stream), CUDA_ERROR_INVALID_VALUE,
          "an unknown order of access is refused");
    gives(cuMemcpy3DBatchAsync(0, ops, 0, stream), CUDA_ERROR_INVALID_VALUE,
          "and so is an empty batch");
    CHECK(cuMemFreeHost(sparse));
    CHECK(cuMemFreeHost(dense));
    CHECK(cuMemFree(data));
    CHECK(cuStreamDestroy(stream));
}

// ---- memory operations ----

static CUstreamBatchMemOpParams operation(CUstreamBatchMemOpType type, CUdeviceptr address,
                                          uint32_t value)
{
    CUstreamBatchMemOpParams op;
    memset(&op, 0, sizeof op);
    op.operation = type;
    op.writeValue.address = address;
    op.writeValue.value = value;
    return op;
}

typedef CUresult (*batch_fn)(CUstream, unsigned, CUstreamBatchMemOpParams *, unsigned);
typedef CUresult (*word_fn)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

static void *version_of(const char *name, int version)
{
    CUdriverProcAddressQueryResult status;
    void *function = NULL;
    CHECK(cuGetProcAddress(name, &function, version, 0, &status));
    return function;
}

// Writes a word, waits for it, and writes another one: both forms of the call.
static void operations(int version, const char *form)
{
    batch_fn batch = (batch_fn)version_of("cuStreamBatchMemOp", version);
    word_fn write = (word_fn)version_of("cuStreamWriteValue32", version);
    word_fn wait = (word_fn)version_of("cuStreamWaitValue32", version);
    CUdeviceptr words = device_alloc(4096);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemsetD32(words, 0, 1024));
    CHECK(cuCtxSynchronize()); // the stream does not wait for the default one
    CUstreamBatchMemOpParams ops[3] = {
        operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, words, 7),
        operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, words, 7),
        operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, words + 4, 9),
    };
    CUresult result = batch(stream, 3, ops, 0);
    if (result == CUDA_ERROR_NOT_SUPPORTED) {
        skip(4, "%s: the driver does not offer it", form);
    } else {
        is_int(result, CUDA_SUCCESS, "%s: operations are queued as a batch", form);
        CHECK(cuStreamSynchronize(stream));
        is_int(word_at(words) << 8 | word_at(words + 4), 7 << 8 | 9, "%s: and carried out in order",
               form);
        gives(write(stream, words + 8, 11, 0), CUDA_SUCCESS, "%s: a single word is written", form);
        CHECK(wait(stream, words + 8, 11, CU_STREAM_WAIT_VALUE_EQ));
        CHECK(cuStreamSynchronize(stream));
        is_int(word_at(words + 8), 11, "%s: and waited for", form);
    }
    CHECK(cuMemFree(words));
    CHECK(cuStreamDestroy(stream));
}

// ---- memory that is waited for ----

static void waited_for(const struct gpu *gpu)
{
    CUdeviceptr from = device_alloc(4096), to = device_alloc(4096), large = device_alloc(4 << 20);
    unsigned on = 1, said = 77;
    gives(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, large + 4096), CUDA_SUCCESS,
          "large memory is marked, too");
    CHECK(cuMemFree(large));
    gives(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, to), CUDA_SUCCESS,
          "memory is marked to be waited for");
    CHECK(cuPointerGetAttribute(&said, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, to + 8));
    is_int(said & 1, 1, "which all of it tells");
    CHECK(cuPointerGetAttribute(&said, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, from));
    is_int(said & 1, 0, "and none of the other");
    launch(kernel(gpu, "delay"), 1, 1, NULL, &(uint64_t){20000000});
    CHECK(cuMemcpyDtoD(to, from, 4096));
    gives(cuStreamQuery(NULL), CUDA_SUCCESS, "a copy to it returns when it is done");
    on = 0;
    CHECK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, to));
    CHECK(cuPointerGetAttribute(&said, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, to));
    is_int(said & 1, 0, "the mark is taken off");
    gives(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_BUFFER_ID, to), CUDA_ERROR_INVALID_VALUE,
          "other attributes cannot be set");
    CHECK(cuMemFree(from));
    CHECK(cuMemFree(to));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    rectangles();
    operations(8000, "as of CUDA 8");
    operations(12000, "as of CUDA 12");
    waited_for(&gpu);
    close_gpu(&gpu);
    return done();
}
