// SPDX-License-Identifier: BSD-3-Clause
// Arrays behave as with NVIDIA's driver: the kinds that can be created, their descriptions, the
// copies that are refused, and the life of their handles.
#include "tests/programs/array_calls.h"

#define FLOAT CU_AD_FORMAT_FLOAT
#define LAYERED CUDA_ARRAY3D_LAYERED
#define CUBEMAP CUDA_ARRAY3D_CUBEMAP
#define SURFACE CUDA_ARRAY3D_SURFACE_LDST
#define GATHER CUDA_ARRAY3D_TEXTURE_GATHER
#define SPARSE CUDA_ARRAY3D_SPARSE
#define DEFERRED CUDA_ARRAY3D_DEFERRED_MAPPING

static const struct {
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    CUresult result;
} kinds[] = {
    {{16, 0, 0, FLOAT, 1, 0}, 0},
    {{16, 8, 0, FLOAT, 1, 0}, 0},
    {{16, 8, 4, FLOAT, 1, 0}, 0},
    {{16, 0, 4, FLOAT, 1, LAYERED}, 0},
    {{16, 8, 4, FLOAT, 1, LAYERED}, 0},
    {{8, 8, 6, FLOAT, 1, CUBEMAP}, 0},
    {{8, 8, 12, FLOAT, 1, CUBEMAP | LAYERED}, 0},
    {{0, 0, 0, FLOAT, 1, 0}, 1},
    {{0, 8, 0, FLOAT, 1, 0}, 1},
    {{16, 0, 4, FLOAT, 1, 0}, 1},
    {{16, 8, 0, FLOAT, 1, LAYERED}, 1},
    {{8, 4, 6, FLOAT, 1, CUBEMAP}, 1},
    {{8, 8, 12, FLOAT, 1, CUBEMAP}, 1},
    {{8, 8, 7, FLOAT, 1, CUBEMAP | LAYERED}, 1},
    {{16, 8, 0, FLOAT, 0, 0}, 1},
    {{16, 8, 0, FLOAT, 3, 0}, 1},
    {{16, 8, 0, FLOAT, 5, 0}, 1},
    {{16, 8, 0, (CUarray_format)0, 1, 0}, 1},
    {{16, 8, 0, (CUarray_format)0x40, 4, 0}, 1},
    {{16, 8, 0, FLOAT, 1, 0x200}, 1},
    {{16, 8, 0, FLOAT, 1, SURFACE}, 0},
    {{16, 8, 0, FLOAT, 1, GATHER}, 0},
    {{16, 8, 4, FLOAT, 1, GATHER}, 1},
    {{16, 0, 0, FLOAT, 1, GATHER}, 1},
    {{16, 8, 0, FLOAT, 1, CUDA_ARRAY3D_DEPTH_TEXTURE}, 1},
    {{16, 8, 0, FLOAT, 1, CUDA_ARRAY3D_COLOR_ATTACHMENT}, 1},
    {{16, 8, 0, FLOAT, 1, SPARSE}, 0},
    {{16, 0, 0, FLOAT, 1, SPARSE}, 1},
    {{16, 8, 0, FLOAT, 1, SPARSE | SURFACE}, 1},
    {{16, 8, 0, FLOAT, 1, SPARSE | DEFERRED}, 1},
    {{16, 8, 0, FLOAT, 1, DEFERRED | SURFACE}, 0},
    {{131072, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}, 0},
    {{131073, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}, 1},
    {{32769, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, SURFACE}, 1},
    {{4, 65537, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}, 1},
    {{4, 4, 16385, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}, 0},
    {{4, 4, 16385, CU_AD_FORMAT_UNSIGNED_INT8, 1, SURFACE}, 1},
    {{16385, 4, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}, 1},
    {{4, 4, 2049, CU_AD_FORMAT_UNSIGNED_INT8, 1, LAYERED}, 1},
    {{64, 32, 0, CU_AD_FORMAT_UNORM_INT8X4, 4, 0}, 0},
    {{64, 32, 0, CU_AD_FORMAT_UNORM_INT8X4, 2, 0}, 1},
    {{64, 32, 0, CU_AD_FORMAT_SNORM_INT16X1, 1, 0}, 0},
    {{64, 32, 0, CU_AD_FORMAT_BC1_UNORM, 4, 0}, 0},
    {{64, 32, 0, CU_AD_FORMAT_BC1_UNORM, 1, 0}, 1},
    {{64, 0, 0, CU_AD_FORMAT_BC1_UNORM, 4, 0}, 1},
    {{64, 32, 0, CU_AD_FORMAT_BC1_UNORM, 4, SURFACE}, 801},
    {{64, 32, 0, CU_AD_FORMAT_BC6H_UF16, 3, 0}, 0},
    {{64, 32, 0, CU_AD_FORMAT_NV12, 3, 0}, 1},
};

static bool equal(const CUDA_ARRAY3D_DESCRIPTOR *a, const CUDA_ARRAY3D_DESCRIPTOR *b)
{
    return a->Width == b->Width && a->Height == b->Height && a->Depth == b->Depth &&
           a->Format == b->Format && a->NumChannels == b->NumChannels && a->Flags == b->Flags;
}

static void check_kinds(void)
{
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const CUDA_ARRAY3D_DESCRIPTOR *d = &kinds[i].descriptor;
        CUDA_ARRAY3D_DESCRIPTOR said;
        CUDA_ARRAY_DESCRIPTOR flat;
        CUarray array = NULL;
        gives(cuArray3DCreate(&array, d), kinds[i].result,
              "an array of %zux%zux%zu, format %#x, %u channels, flags %#x", d->Width, d->Height,
              d->Depth, d->Format, d->NumChannels, d->Flags);
        if (!array)
            continue;
        CHECK(cuArray3DGetDescriptor(&said, array));
        CHECK(cuArrayGetDescriptor(&flat, array));
        ok(equal(&said, d) && flat.Width == d->Width && flat.Height == d->Height &&
               flat.Format == d->Format && flat.NumChannels == d->NumChannels,
           "says what it is");
        CHECK(cuArrayDestroy(array));
    }
}

static void check_levels(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {61, 31, 7, FLOAT, 2, SURFACE}, level;
    static const size_t extents[][3] = {{61, 31, 7}, {30, 15, 3}, {15, 7, 1},
                                        {7, 3, 1},   {3, 1, 1},   {1, 1, 1}};
    CUmipmappedArray mipmap;
    CUarray array, again;
    CHECK(cuMipmappedArrayCreate(&mipmap, &d, 20));
    for (unsigned i = 0; i < 6; i++) {
        CHECK(cuMipmappedArrayGetLevel(&array, mipmap, i));
        CHECK(cuMipmappedArrayGetLevel(&again, mipmap, i));
        CHECK(cuArray3DGetDescriptor(&level, array));
        ok(array == again && level.Width == extents[i][0] && level.Height == extents[i][1] &&
               level.Depth == extents[i][2] && level.Flags == d.Flags,
           "level %u is %zux%zux%zu", i, level.Width, level.Height, level.Depth);
    }
    gives(cuMipmappedArrayGetLevel(&array, mipmap, 6), CUDA_ERROR_INVALID_VALUE,
          "and there are no more than there can be");
    CHECK(cuMipmappedArrayDestroy(mipmap));
    d.Width = 32769;
    d.Depth = 0;
    gives(cuMipmappedArrayCreate(&mipmap, &d, 2), CUDA_ERROR_INVALID_VALUE,
          "one with levels is not as wide");
    CHECK(cuMipmappedArrayCreate(&mipmap, &(CUDA_ARRAY3D_DESCRIPTOR){64, 64, 0, FLOAT, 1, 0}, 0));
    gives(cuMipmappedArrayGetLevel(&array, mipmap, 1), CUDA_ERROR_INVALID_VALUE,
          "no level is one level");
    CHECK(cuMipmappedArrayDestroy(mipmap));
}

static void check_later(CUdevice device)
{
    CUDA_ARRAY_MEMORY_REQUIREMENTS wanted = {0};
    CUDA_ARRAY_SPARSE_PROPERTIES tiles = {.flags = 0};
    CUarray plain = make_array(64, 64, 0, FLOAT, 1, 0),
            later = make_array(2048, 1024, 0, FLOAT, 1, DEFERRED),
            sparse = make_array(2048, 1024, 0, FLOAT, 1, SPARSE);
    gives(cuArrayGetMemoryRequirements(&wanted, plain, device), CUDA_ERROR_INVALID_VALUE,
          "an array with memory does not say how much it wants");
    CHECK(cuArrayGetMemoryRequirements(&wanted, later, device));
    ok(wanted.size >= 2048 * 1024 * 4 && wanted.size < 2 * 2048 * 1024 * 4 &&
           wanted.alignment == 65536,
       "one whose memory comes later wants %zu bytes", wanted.size);
    gives(cuArrayGetSparseProperties(&tiles, later), CUDA_ERROR_INVALID_VALUE,
          "it is not one of tiles");
    CHECK(cuArrayGetSparseProperties(&tiles, sparse));
    ok(tiles.tileExtent.width == 128 && tiles.tileExtent.height == 128 &&
           tiles.tileExtent.depth == 1,
       "a sparse one says how large these are");
    CHECK(cuArrayDestroy(plain));
    CHECK(cuArrayDestroy(later));
    CHECK(cuArrayDestroy(sparse));
}

// ---- copies ----

static unsigned char host[1 << 16];

static CUresult copy_in(CUarray array, size_t x, size_t y, size_t z, size_t width, size_t height,
                        size_t depth)
{
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcPitch = width,
                          .srcHeight = height,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = array,
                          .dstXInBytes = x,
                          .dstY = y,
                          .dstZ = z,
                          .WidthInBytes = width,
                          .Height = height,
                          .Depth = depth};
    return cuMemcpy3D(&copy);
}

static void check_rectangles(void)
{
    CUarray deep = make_array(16, 8, 4, FLOAT, 1, 0), line = make_array(100, 0, 0, 1, 1, 0),
            layers = make_array(16, 0, 4, FLOAT, 1, LAYERED),
            blocks = make_array(61, 31, 0, CU_AD_FORMAT_BC2_UNORM, 4, 0);
    gives(copy_in(deep, 0, 0, 0, 64, 8, 4), CUDA_SUCCESS, "all of an array");
    gives(copy_in(deep, 3, 1, 3, 7, 2, 1), CUDA_SUCCESS, "bytes within its elements");
    gives(copy_in(deep, 4, 0, 0, 64, 8, 4), CUDA_ERROR_INVALID_VALUE, "beyond its rows");
    gives(copy_in(deep, 0, 1, 0, 64, 8, 4), CUDA_ERROR_INVALID_VALUE, "below it");
    gives(copy_in(deep, 0, 0, 1, 64, 8, 4), CUDA_ERROR_INVALID_VALUE, "behind it");
    gives(copy_in(deep, SIZE_MAX, 0, 0, 64, 1, 1), CUDA_ERROR_INVALID_VALUE, "far away");
    gives(copy_in(deep, 100, 0, 0, 0, 8, 4), CUDA_SUCCESS, "nothing, from anywhere");
    gives(copy_in(layers, 0, 0, 0, 64, 1, 4), CUDA_SUCCESS, "layers of lines are planes");
    gives(copy_in(layers, 0, 1, 0, 64, 1, 1), CUDA_ERROR_INVALID_VALUE, "and not rows");
    gives(copy_in(blocks, 16, 1, 0, 240, 7, 1), CUDA_SUCCESS, "blocks have rows of their own");
    gives(copy_in(blocks, 8, 0, 0, 16, 1, 1), CUDA_ERROR_INVALID_VALUE, "and are not divided");
    gives(copy_in(NULL, 0, 0, 0, 16, 1, 1), CUDA_ERROR_INVALID_VALUE, "no array");
    gives(cuMemcpyHtoA(line, 99, host, 1), CUDA_SUCCESS, "the last byte of a line");
    gives(cuMemcpyHtoA(line, 99, host, 2), CUDA_ERROR_INVALID_VALUE, "and one more");
    gives(cuMemcpyHtoA(deep, 0, host, 65), CUDA_ERROR_INVALID_VALUE, "a run ends with the row");
    gives(cuMemcpyHtoA(NULL, 0, host, 0), CUDA_SUCCESS, "a run of nothing");
    CUDA_MEMCPY3D level = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = host,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = deep,
                           .dstLOD = 1,
                           .WidthInBytes = 4,
                           .Height = 1,
                           .Depth = 1};
    gives(cuMemcpy3D(&level), CUDA_ERROR_INVALID_VALUE, "a level is named by its array only");
    CHECK(cuArrayDestroy(deep));
    CHECK(cuArrayDestroy(line));
    CHECK(cuArrayDestroy(layers));
    CHECK(cuArrayDestroy(blocks));
}

// ---- batches, which count in elements ----

static CUresult batch(CUarray array, CUdeviceptr from, size_t x, size_t width, size_t row)
{
    CUstream stream;
    CUDA_MEMCPY3D_BATCH_OP op;
    memset(&op, 0, sizeof op);
    op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    op.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = from;
    op.src.op.ptr.rowLength = row;
    op.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    op.dst.op.array.array = array;
    op.dst.op.array.offset.x = x;
    op.extent = (CUextent3D){width, 2, 1};
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUresult result = cuMemcpy3DBatchAsync(1, &op, 0, stream);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuStreamDestroy(stream));
    return result;
}

static void check_batches(void)
{
    CUarray array = make_array(16, 8, 0, FLOAT, 1, 0);
    CUdeviceptr memory = device_alloc(sizeof host);
    float values[64], back[16];
    for (int i = 0; i < 64; i++)
        values[i] = (float)i;
    CHECK(cuMemcpyHtoD(memory, values, sizeof values));
    gives(batch(array, memory, 4, 12, 20), CUDA_SUCCESS, "a batch with an array");
    CUDA_MEMCPY2D second = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                            .srcArray = array,
                            .srcXInBytes = 16,
                            .srcY = 1,
                            .dstMemoryType = CU_MEMORYTYPE_HOST,
                            .dstHost = back,
                            .WidthInBytes = 48,
                            .Height = 1};
    CHECK(cuMemcpy2D(&second));
    is_mem(back, values + 20, 48, "counts in elements");
    gives(batch(array, memory, 16, 1, 0), CUDA_ERROR_INVALID_VALUE, "and is not to leave it");
    gives(batch(array, memory, 0, 16, 15), CUDA_ERROR_INVALID_VALUE, "nor to have short rows");
    gives(batch(array, memory, 0, 0, 0), CUDA_ERROR_INVALID_VALUE, "nor to be of nothing");
    CHECK(cuMemFree(memory));
    CHECK(cuArrayDestroy(array));
}

// ---- contexts ----

static void check_contexts(CUcontext mine, CUdevice device)
{
    CUDA_ARRAY3D_DESCRIPTOR said;
    CUcontext other;
    CUarray theirs, own = make_array(16, 8, 0, FLOAT, 1, 0);
    CUmipmappedArray mipmap;
    CHECK(cuCtxCreate_v2(&other, 0, device));
    theirs = make_array(16, 8, 0, FLOAT, 1, 0);
    CHECK(cuMipmappedArrayCreate(&mipmap, &(CUDA_ARRAY3D_DESCRIPTOR){8, 8, 0, FLOAT, 1, 0}, 2));
    CHECK(cuCtxSetCurrent(mine));
    gives(cuMemcpyHtoA(theirs, 0, host, 64), CUDA_SUCCESS, "an array of another context is filled");
    gives(cuMemcpyAtoA(own, 0, theirs, 0, 64), CUDA_SUCCESS, "and copied from");
    CHECK(cuCtxDestroy(other));
    gives(cuArray3DGetDescriptor(&said, theirs), CUDA_ERROR_CONTEXT_IS_DESTROYED,
          "it goes with its context");
    gives(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_CONTEXT_IS_DESTROYED,
          "and so does one with levels");
    gives(cuMemcpyHtoA(own, 0, host, 64), CUDA_SUCCESS, "others stay");
    gives(cuArray3DGetDescriptor(&said, NULL), CUDA_ERROR_INVALID_HANDLE, "there is no NULL array");
    gives(cuArrayDestroy(NULL), CUDA_ERROR_INVALID_HANDLE, "to destroy");
    CHECK(cuArrayDestroy(own));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    check_kinds();
    check_levels();
    check_later(gpu.device);
    check_rectangles();
    check_batches();
    check_contexts(gpu.context, gpu.device);
    close_gpu(&gpu);
    return done();
}
