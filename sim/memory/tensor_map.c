// SPDX-License-Identifier: BSD-3-Clause
// Tensor maps: the driver's checks, and a stored description. Kernels of the software GPU cannot
// use them.
#include <string.h>

#include "sim/sim.h"

// indices of the fields in the opaque words; they allow to replace an address
enum { WORD_ADDRESS = 0, WORD_KIND = 1, WORD_SIZES = 2, WORD_STRIDES = 7, WORD_BOX = 12 };
enum { RANK_MAX = 5, BOX_MAX = 256, STEP_MAX = 8, PIXELS_MAX = 1024, KNOWN = 0x7e450 };

struct tensor {
    CUtensorMapDataType type;
    cuuint32_t rank;
    void *address;
    const cuuint64_t *sizes, *strides; // strides: one fewer than dimensions
    const cuuint32_t *steps;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
};

static unsigned element_bytes(CUtensorMapDataType type)
{
    static const unsigned char bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return (unsigned)type < sizeof(bytes) ? bytes[type] : 0;
}

static bool is_float(CUtensorMapDataType type)
{
    return (type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_FLOAT64) ||
           (type >= CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 &&
            type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ);
}

static bool modes_are_known(const struct tensor *t)
{
    return (unsigned)t->interleave <= CU_TENSOR_MAP_INTERLEAVE_32B &&
           (unsigned)t->swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B &&
           (unsigned)t->promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B &&
           (unsigned)t->fill <= CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA &&
           (t->fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || is_float(t->type));
}

static CUresult check_tensor(const struct tensor *t, unsigned lowest_rank)
{
    uintptr_t align = t->interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
    SIM_RETURN_IF(!t->sizes || !t->steps || (!t->strides && t->rank > 1), CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!element_bytes(t->type) || !modes_are_known(t), CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(t->rank < lowest_rank || t->rank > RANK_MAX, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(t->interleave && t->rank < 3, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!t->address || (uintptr_t)t->address % align, CUDA_ERROR_INVALID_VALUE);
    for (cuuint32_t i = 0; i < t->rank; i++) {
        SIM_RETURN_IF(!t->sizes[i] || t->sizes[i] > 1ULL << 32, CUDA_ERROR_INVALID_VALUE);
        SIM_RETURN_IF(!t->steps[i] || t->steps[i] > STEP_MAX, CUDA_ERROR_INVALID_VALUE);
        SIM_RETURN_IF(i + 1 < t->rank && (t->strides[i] % align || t->strides[i] >= 1ULL << 40),
                      CUDA_ERROR_INVALID_VALUE);
    }
    return CUDA_SUCCESS;
}

static void tensor_map_keep(CUtensorMap *map, const struct tensor *t)
{
    memset(map, 0, sizeof(*map));
    map->opaque[WORD_ADDRESS] = (uintptr_t)t->address;
    map->opaque[WORD_KIND] = (cuuint64_t)KNOWN << 32 | (cuuint64_t)t->type << 8 | t->rank;
    memcpy(&map->opaque[WORD_SIZES], t->sizes, t->rank * sizeof(*t->sizes));
    if (t->rank > 1)
        memcpy(&map->opaque[WORD_STRIDES], t->strides, (t->rank - 1) * sizeof(*t->strides));
}

static CUresult tensor_map_check_box(const struct tensor *t, const cuuint32_t *box)
{
    static const unsigned char inner_max[] = {0, 32, 64, 128, 128, 128, 128};
    cuuint64_t inner = (cuuint64_t)box[0] * element_bytes(t->type);
    for (cuuint32_t i = 0; i < t->rank; i++)
        SIM_RETURN_IF(!box[i] || box[i] > BOX_MAX, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!t->interleave && inner % 16, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!t->interleave && t->swizzle && inner > inner_max[t->swizzle],
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

SIM_API(cuTensorMapEncodeTiled, CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
        void *address, const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
        const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    struct tensor t = {type,  rank,       address, sizes,     strides,
                       steps, interleave, swizzle, promotion, fill};
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!map || (uintptr_t)map % 64 || !box, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(check_tensor(&t, 1));
    SIM_TRY(tensor_map_check_box(&t, box));
    tensor_map_keep(map, &t);
    memcpy(&map->opaque[WORD_BOX], box, t.rank * sizeof(*box));
    return CUDA_SUCCESS;
}

// Checks the corners of a box of pixels. All of them, one per dimension except channels and images,
// share 32 bits.
static CUresult check_corners(cuuint32_t rank, const int *lower, const int *upper)
{
    int most = rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4;
    for (cuuint32_t i = 0; i + 2 < rank; i++)
        SIM_RETURN_IF(lower[i] < -most || lower[i] >= most || upper[i] < -most || upper[i] >= most,
                      CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static CUresult encode_columns(CUtensorMap *map, const struct tensor *t, const int *lower,
                               const int *upper, cuuint32_t corners, cuuint32_t channels,
                               cuuint32_t pixels)
{
    SIM_RETURN_IF(!map || (uintptr_t)map % 64 || !lower || !upper, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(check_tensor(t, 3));
    SIM_TRY(check_corners(corners, lower, upper));
    SIM_RETURN_IF(!channels || channels > BOX_MAX || !pixels || pixels > PIXELS_MAX,
                  CUDA_ERROR_INVALID_VALUE);
    tensor_map_keep(map, t);
    map->opaque[WORD_BOX] = (cuuint64_t)channels << 32 | pixels;
    memcpy(&map->opaque[WORD_BOX + 1], lower, (corners - 2) * sizeof(*lower));
    memcpy((int *)&map->opaque[WORD_BOX + 1] + 3, upper, (corners - 2) * sizeof(*upper));
    return CUDA_SUCCESS;
}

SIM_API(cuTensorMapEncodeIm2col, CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
        void *address, const cuuint64_t *sizes, const cuuint64_t *strides, const int *lower,
        const int *upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
        CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    struct tensor t = {type,  rank,       address, sizes,     strides,
                       steps, interleave, swizzle, promotion, fill};
    SIM_TRY(sim_check_ready());
    return encode_columns(map, &t, lower, upper, rank, channels, pixels);
}

SIM_API(cuTensorMapEncodeIm2colWide, CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
        void *address, const cuuint64_t *sizes, const cuuint64_t *strides, int lower, int upper,
        cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
        CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
        CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    struct tensor t = {type,  rank,       address, sizes,     strides,
                       steps, interleave, swizzle, promotion, fill};
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF((unsigned)mode > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128, CUDA_ERROR_INVALID_VALUE);
    return encode_columns(map, &t, &lower, &upper, 3, channels, pixels);
}

SIM_API(cuTensorMapReplaceAddress, CUtensorMap *map, void *address)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!map || !address || (uintptr_t)address % 16, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(map->opaque[WORD_KIND] >> 32 != KNOWN, CUDA_ERROR_INVALID_VALUE);
    map->opaque[WORD_ADDRESS] = (uintptr_t)address;
    return CUDA_SUCCESS;
}
