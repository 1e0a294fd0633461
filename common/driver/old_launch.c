// SPDX-License-Identifier: BSD-3-Clause
#include "common/driver/old_launch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"

// The limits of every GPU since the days of these calls.
enum { BLOCK_XY_MAX = 1024, BLOCK_Z_MAX = 64, BLOCK_MAX = 1024, SHARED_MAX = 48 * 1024 };

struct old_launch {
    unsigned int block[3];
    unsigned int shared_bytes;
    uint8_t parameters[OLD_LAUNCH_PARAMETERS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of all slots and what they hold

// NULL: there is no memory. The lock is held.
static struct old_launch *state_of(struct old_launch **slot)
{
    if (!*slot && (*slot = calloc(1, sizeof(**slot))))
        (*slot)->block[0] = (*slot)->block[1] = (*slot)->block[2] = 1;
    return *slot;
}

CUresult old_launch_block(struct old_launch **slot, int x, int y, int z)
{
    if (x <= 0 || y <= 0 || z <= 0 || x > BLOCK_XY_MAX || y > BLOCK_XY_MAX || z > BLOCK_Z_MAX ||
        x * y > BLOCK_MAX / z)
        return CUDA_ERROR_INVALID_VALUE;
    SCOPED_LOCK(&lock);
    struct old_launch *state = state_of(slot);
    if (!state)
        return CUDA_ERROR_OUT_OF_MEMORY;
    state->block[0] = (unsigned int)x;
    state->block[1] = (unsigned int)y;
    state->block[2] = (unsigned int)z;
    return CUDA_SUCCESS;
}

CUresult old_launch_shared(struct old_launch **slot, unsigned int bytes)
{
    if (bytes > SHARED_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    SCOPED_LOCK(&lock);
    struct old_launch *state = state_of(slot);
    if (!state)
        return CUDA_ERROR_OUT_OF_MEMORY;
    state->shared_bytes = bytes;
    return CUDA_SUCCESS;
}

// A driver passes as many bytes as the function needs and ignores the set size, so the size is only
// checked.
CUresult old_launch_size(struct old_launch **slot, unsigned int bytes)
{
    // Rounded to words first, as a driver does it, where the largest number becomes none.
    return ((bytes + 3) & ~3u) > OLD_LAUNCH_PARAMETERS ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult old_launch_parameter(struct old_launch **slot, int offset, const void *value,
                              unsigned int size)
{
    if (!value || offset < 0 || offset > OLD_LAUNCH_PARAMETERS ||
        size > OLD_LAUNCH_PARAMETERS - (unsigned int)offset)
        return CUDA_ERROR_INVALID_VALUE;
    SCOPED_LOCK(&lock);
    struct old_launch *state = state_of(slot);
    if (!state)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(state->parameters + offset, value, size);
    return CUDA_SUCCESS;
}

CUresult old_launch_make(struct old_launch **slot, int width, int height, CUstream stream,
                         struct old_launch_request *out)
{
    if (width <= 0 || height <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    SCOPED_LOCK(&lock);
    const struct old_launch *state = state_of(slot);
    if (!state)
        return CUDA_ERROR_OUT_OF_MEMORY;
    out->config = (CUlaunchConfig){.gridDimX = (unsigned int)width,
                                   .gridDimY = (unsigned int)height,
                                   .gridDimZ = 1,
                                   .blockDimX = state->block[0],
                                   .blockDimY = state->block[1],
                                   .blockDimZ = state->block[2],
                                   .sharedMemBytes = state->shared_bytes,
                                   .hStream = stream};
    memcpy(out->parameters, state->parameters, sizeof(out->parameters));
    out->bytes = sizeof(out->parameters);
    out->extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    out->extra[1] = out->parameters;
    out->extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    out->extra[3] = &out->bytes;
    out->extra[4] = CU_LAUNCH_PARAM_END;
    return CUDA_SUCCESS;
}
