// SPDX-License-Identifier: BSD-3-Clause
// Sparse arrays: memory is mapped to tiles and tails, and unmapped. Unmapped tiles read as zeros,
// and writes to them are lost.
#include "tests/programs/array_calls.h"

CUresult cuMemMapArrayAsync(CUarrayMapInfo *, unsigned, CUstream);
CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *, CUmipmappedArray);

enum { SIDE = 512, TILE = 128, TILE_BYTES = 64 * 1024, POOL = 2 << 20 };

static CUstream stream;
static CUmemGenericAllocationHandle pool;

static CUmemGenericAllocationHandle make_memory(unsigned short usage)
{
    CUmemGenericAllocationHandle memory;
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    properties.allocFlags.usage = usage;
    CHECK(cuMemCreate(&memory, POOL, &properties, 0));
    return memory;
}

// WIDTH by HEIGHT tiles of an array from a tile on, and where in the pool they lie.
static CUarrayMapInfo tiles_of(CUarray array, unsigned x, unsigned y, unsigned width,
                               unsigned height, unsigned place)
{
    CUarrayMapInfo info = {.resourceType = CU_RESOURCE_TYPE_ARRAY,
                           .resource.array = array,
                           .memOperationType = CU_MEM_OPERATION_TYPE_MAP,
                           .memHandle.memHandle = pool,
                           .offset = (unsigned long long)place * TILE_BYTES,
                           .deviceBitMask = 1};
    info.subresource.sparseLevel.offsetX = x * TILE;
    info.subresource.sparseLevel.offsetY = y * TILE;
    info.subresource.sparseLevel.extentWidth = width * TILE;
    info.subresource.sparseLevel.extentHeight = height * TILE;
    info.subresource.sparseLevel.extentDepth = 1;
    return info;
}

static CUresult map(CUarrayMapInfo info)
{
    return cuMemMapArrayAsync(&info, 1, stream);
}

static CUresult unmap(CUarrayMapInfo info)
{
    info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    info.memHandle.memHandle = 0;
    info.offset = 0;
    return map(info);
}

// All of a slice of words between the array and memory.
static void copy(CUarray array, bool to, uint32_t *words, size_t side, size_t slice)
{
    CUDA_MEMCPY3D c = {.WidthInBytes = side * 4, .Height = side, .Depth = 1};
    c.srcMemoryType = to ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    c.dstMemoryType = to ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    c.srcPitch = c.dstPitch = side * 4;
    c.srcHeight = c.dstHeight = side;
    if (to) {
        c.srcHost = words;
        c.dstArray = array;
        c.dstZ = slice;
    } else {
        c.dstHost = words;
        c.srcArray = array;
        c.srcZ = slice;
    }
    CHECK(cuMemcpy3DAsync(&c, stream));
    CHECK(cuStreamSynchronize(stream));
}

static void write_all(CUarray array, size_t side, size_t slice, uint32_t value)
{
    uint32_t *words = must_alloc(side * side * 4);
    for (size_t i = 0; i < side * side; i++)
        words[i] = value;
    copy(array, true, words, side, slice);
    free(words);
}

// Returns one digit per tile, row by row: its value, 0 if the tile is all zeros, x if its words
// differ.
static const char *look(CUarray array, size_t slice)
{
    static char text[SIDE / TILE * SIDE / TILE + 1];
    uint32_t *words = must_alloc(SIDE * SIDE * 4);
    copy(array, false, words, SIDE, slice);
    for (size_t t = 0; t < sizeof(text) - 1; t++) {
        const uint32_t *tile = words + t / 4 * TILE * SIDE + t % 4 * TILE;
        bool alike = true;
        for (size_t i = 0; i < TILE * TILE; i++)
            alike &= tile[i / TILE * SIDE + i % TILE] == tile[0];
        text[t] = alike && tile[0] < 10 ? (char)('0' + tile[0]) : 'x';
    }
    free(words);
    return text;
}

static void tiles(void)
{
    CUarray array = make_array(SIDE, SIDE, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE);
    CUDA_ARRAY_SPARSE_PROPERTIES of = {0};
    CHECK(cuArrayGetSparseProperties(&of, array));
    ok(of.tileExtent.width == TILE && of.tileExtent.height == TILE && of.tileExtent.depth == 1 &&
           of.miptailFirstLevel == 0 && of.miptailSize == 0,
       "tiles of 64 KiB, and no tail");
    write_all(array, SIDE, 0, 9);
    is_str(look(array, 0), "0000000000000000", "with nothing mapped all is zeros, and stays so");
    CHECK(map(tiles_of(array, 1, 0, 1, 1, 0)));
    write_all(array, SIDE, 0, 2);
    is_str(look(array, 0), "0200000000000000", "a tile that is mapped keeps what is written");
    CHECK(map(tiles_of(array, 2, 1, 2, 2, 1)));
    write_all(array, SIDE, 0, 3);
    is_str(look(array, 0), "0300003300330000", "tiles of two rows and two columns");
    CHECK(map(tiles_of(array, 0, 3, 1, 1, 0)));
    is_str(look(array, 0), "0300003300333000", "memory that is mapped twice is seen twice");
    CHECK(unmap(tiles_of(array, 2, 1, 2, 2, 0)));
    write_all(array, SIDE, 0, 4);
    is_str(look(array, 0), "0400000000004000", "what is taken away is zeros again");
    CHECK(map(tiles_of(array, 2, 1, 1, 1, 1)));
    is_str(look(array, 0), "0400003000004000", "the memory has kept it");
    CHECK(map(tiles_of(array, 0, 3, 1, 1, 2)));
    is_str(look(array, 0), "0400003000003000", "other memory takes the place of what was mapped");
    CHECK(unmap(tiles_of(array, 3, 3, 1, 1, 0)));
    CHECK(cuMemRelease(pool));
    is_str(look(array, 0), "0400003000003000", "memory that is released stays while it is mapped");
    CHECK(cuArrayDestroy(array));
    pool = make_memory(CU_MEM_CREATE_USAGE_TILE_POOL);
}

static void layers_and_volumes(void)
{
    CUarray layered = make_array(SIDE, SIDE, 3, CU_AD_FORMAT_FLOAT, 1,
                                 CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_LAYERED);
    CUarrayMapInfo info = tiles_of(layered, 0, 0, 4, 1, 0);
    info.subresource.sparseLevel.layer = 2;
    CHECK(map(info));
    for (size_t z = 0; z < 3; z++)
        write_all(layered, SIDE, z, 5);
    is_str(look(layered, 0), "0000000000000000", "another layer has nothing of it");
    is_str(look(layered, 2), "5555000000000000", "the layer that was meant has it");
    CHECK(cuArrayDestroy(layered));

    CUarray deep = make_array(100, 100, 40, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE);
    info = tiles_of(deep, 0, 0, 1, 1, 0);
    info.subresource.sparseLevel.offsetX = info.subresource.sparseLevel.extentWidth = 32;
    info.subresource.sparseLevel.extentHeight = 32;
    info.subresource.sparseLevel.offsetZ = info.subresource.sparseLevel.extentDepth = 16;
    is_int(map(info), CUDA_SUCCESS, "a tile within a volume");
    info.subresource.sparseLevel.extentDepth = 1;
    is_int(map(info), CUDA_ERROR_INVALID_VALUE, "which is not one step deep");
    CHECK(cuArrayDestroy(deep));
}

static void tail(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {SIDE, SIDE, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
    CUDA_ARRAY_SPARSE_PROPERTIES of = {0};
    CUmipmappedArray mipmap;
    CUarray levels[10];
    uint32_t word, wrong = 0;
    CHECK(cuMipmappedArrayCreate(&mipmap, &d, 10));
    for (unsigned i = 0; i < 10; i++)
        CHECK(cuMipmappedArrayGetLevel(&levels[i], mipmap, i));
    CHECK(cuMipmappedArrayGetSparseProperties(&of, mipmap));
    ok(of.miptailFirstLevel == 3 && of.miptailSize == TILE_BYTES, "levels below a tile are a tail");
    CUarrayMapInfo info = tiles_of(NULL, 0, 0, 1, 1, 1);
    info.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    info.resource.mipmap = mipmap;
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    memset(&info.subresource, 0, sizeof(info.subresource));
    info.subresource.miptail.size = TILE_BYTES / 2;
    is_int(map(info), CUDA_ERROR_INVALID_VALUE, "half of it is not mapped");
    info.subresource.miptail.size = TILE_BYTES;
    is_int(map(info), CUDA_SUCCESS, "all of it is");
    for (unsigned i = 3; i < 10; i++)
        write_all(levels[i], SIDE >> i, 0, i);
    for (unsigned i = 3; i < 10; i++) {
        uint32_t *words = must_alloc((SIDE >> i) * (SIDE >> i) * 4);
        copy(levels[i], false, words, SIDE >> i, 0);
        wrong += words[0] != i || words[(SIDE >> i) * (SIDE >> i) - 1] != i;
        free(words);
    }
    is_int(wrong, 0, "each level of it has its own contents");
    CHECK(unmap(info));
    copy(levels[9], false, &word, 1, 0);
    is_int(word, 0, "until it is taken away");
    info = tiles_of(levels[1], 0, 0, 1, 1, 0);
    is_int(map(info), CUDA_ERROR_INVALID_VALUE, "a level is mapped to by the whole only");
    CHECK(cuMipmappedArrayDestroy(mipmap));
}

// Each is one change of a mapping that is right.
static void refusals(void)
{
    CUarray array = make_array(SIDE, SIDE, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE);
    CUarray plain = make_array(SIDE, SIDE, 0, CU_AD_FORMAT_FLOAT, 1, 0);
    CUmemGenericAllocationHandle other = make_memory(0);
    CUarrayMapInfo right = tiles_of(array, 0, 0, 1, 1, 0), wrong[16];
    int refused = 0;
    for (int i = 0; i < 16; i++)
        wrong[i] = right;
    wrong[0].resource.array = plain;
    wrong[1].subresource.sparseLevel.offsetX = TILE / 2;
    wrong[2].subresource.sparseLevel.extentWidth = TILE / 2;
    wrong[3].subresource.sparseLevel.extentWidth = 0;
    wrong[4].subresource.sparseLevel.offsetX = SIDE;
    wrong[5].offset = 4096;
    wrong[6].offset = POOL;
    wrong[7].subresource.sparseLevel.extentDepth = 2;
    wrong[8].subresource.sparseLevel.layer = 1;
    wrong[9].subresource.sparseLevel.level = 1;
    wrong[10].deviceBitMask = 0;
    wrong[11].flags = 1;
    wrong[12].reserved[0] = 1;
    wrong[13].memOperationType = (CUmemOperationType)3;
    wrong[14].memHandle.memHandle = other;
    wrong[15].subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    for (int i = 0; i < 16; i++) {
        CUresult result = map(wrong[i]);
        refused += result == CUDA_ERROR_INVALID_VALUE;
        if (result != CUDA_ERROR_INVALID_VALUE)
            diag("mapping %d gave %d", i, result);
    }
    is_int(refused, 16, "mappings that are wrong in one thing are refused");
    is_int(cuMemMapArrayAsync(NULL, 1, stream), CUDA_ERROR_INVALID_VALUE, "no list");
    is_int(cuMemMapArrayAsync(&right, 0, stream), CUDA_ERROR_INVALID_VALUE, "an empty one");
    write_all(array, SIDE, 0, 9);
    is_str(look(array, 0), "0000000000000000", "and nothing was mapped");
    CHECK(cuMemRelease(other));
    CHECK(cuArrayDestroy(array));
    CHECK(cuArrayDestroy(plain));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    int sparse = 0;
    CHECK(cuDeviceGetAttribute(&sparse, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 0));
    is_int(sparse, 1, "the device has sparse arrays");
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    pool = make_memory(CU_MEM_CREATE_USAGE_TILE_POOL);
    tiles();
    layers_and_volumes();
    tail();
    refusals();
    CHECK(cuMemRelease(pool));
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
