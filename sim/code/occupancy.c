// SPDX-License-Identifier: BSD-3-Clause
// Limits on blocks per multiprocessor, by the rules of compute capability 9.0.
#include "sim/code/occupancy.h"

#include "sim/code/module.h"

#define WARPS_PER_SM (DEVICE_THREADS_PER_SM / DEVICE_WARP_SIZE)
#define REGISTER_UNIT 256 // a warp's registers are a multiple of this
#define SHARED_UNIT 128   // bytes
#define MAX_BLOCK 1024

static int occupancy_least(int a, int b)
{
    return a < b ? a : b;
}

static int limit_by_registers(const struct function *function, int warps)
{
    unsigned per_warp = function->info->registers * DEVICE_WARP_SIZE;
    per_warp = (per_warp + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    int fit = per_warp ? (int)(DEVICE_REGISTERS_PER_SM / per_warp) : WARPS_PER_SM;
    return fit / 4 * 4 / warps; // each of four schedulers has a quarter of the registers
}

static int limit_by_shared(const struct function *function, size_t dynamic_shared)
{
    size_t bytes = function->info->static_shared + dynamic_shared;
    bytes = (bytes + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT + DEVICE_SHARED_RESERVED;
    return (int)(DEVICE_SHARED_PER_SM / bytes);
}

int occupancy_blocks(const struct function *function, int block_size, size_t dynamic_shared)
{
    if (block_size <= 0 || block_size > (int)function->info->max_threads ||
        function->info->static_shared + dynamic_shared > DEVICE_SHARED_PER_BLOCK_OPTIN)
        return 0;
    int warps = (block_size + DEVICE_WARP_SIZE - 1) / DEVICE_WARP_SIZE;
    int blocks = occupancy_least(DEVICE_BLOCKS_PER_SM, WARPS_PER_SM / warps);
    blocks = occupancy_least(blocks, limit_by_registers(function, warps));
    return occupancy_least(blocks, limit_by_shared(function, dynamic_shared));
}

SIM_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, CUfunction handle,
        int block_size, size_t dynamic_shared, unsigned flags)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(function_get(handle, &function));
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (blocks && block_size > 0 && !(flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) {
        *blocks = occupancy_blocks(function, block_size, dynamic_shared);
        result = CUDA_SUCCESS;
    }
    return result;
}

// Finds the largest block size among those that keep the most threads of a multiprocessor busy.
static void occupancy_best_block_size(const struct function *function, CUoccupancyB2DSize shared_of,
                                      size_t dynamic_shared, int limit, int *best_size,
                                      int *best_blocks)
{
    int most = 0;
    *best_size = *best_blocks = 0;
    for (int size = limit; size > 0;) {
        size_t shared = shared_of ? shared_of(size) : dynamic_shared;
        int blocks = occupancy_blocks(function, size, shared);
        if (blocks * size > most) {
            most = blocks * size;
            *best_size = size;
            *best_blocks = blocks;
        }
        size = size % DEVICE_WARP_SIZE ? size - size % DEVICE_WARP_SIZE : size - DEVICE_WARP_SIZE;
    }
}

SIM_API(cuOccupancyMaxPotentialBlockSizeWithFlags, int *grid_size, int *block_size,
        CUfunction handle, CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit,
        unsigned flags)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(function_get(handle, &function));
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (grid_size && block_size && limit >= 0 &&
        !(flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) {
        int most = (int)function->info->max_threads, blocks;
        if (limit && limit < most)
            most = limit;
        occupancy_best_block_size(function, shared_of, dynamic_shared,
                                  occupancy_least(most, MAX_BLOCK), block_size, &blocks);
        *grid_size = blocks * DEVICE_MULTIPROCESSORS;
        result = *block_size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    return result;
}

SIM_API(cuOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, CUfunction handle, int blocks,
        int block_size)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(function_get(handle, &function));
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (bytes && blocks > 0 && block_size > 0 && block_size <= MAX_BLOCK) {
        size_t share = (DEVICE_SHARED_PER_SM / (size_t)blocks) & ~(size_t)(SHARED_UNIT - 1);
        size_t taken = DEVICE_SHARED_RESERVED + function->info->static_shared;
        size_t most = DEVICE_SHARED_PER_BLOCK_OPTIN - function->info->static_shared;
        *bytes = share > taken ? share - taken : 0;
        if (*bytes > most)
            *bytes = most;
        result = CUDA_SUCCESS;
    }
    return result;
}
