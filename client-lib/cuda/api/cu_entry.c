// SPDX-License-Identifier: BSD-3-Clause
// Entry points of the driver: by name, by table, and the texts of errors.
#include <string.h>

#include "client-lib/cuda/api/exports.h"
#include "client_calls.h"
#include "common/driver/export_tables.h"
#include "proto/wire.h"

CUresult export_table_processor_groups(uint8_t *groups, uint8_t *places, size_t room, size_t *count)
{
    uint8_t both[2 * WIRE_PAIRS_MAX];
    size_t size = 0;
    CUresult result = remote_processor_groups(both, sizeof(both), &size);
    if (result == CUDA_SUCCESS && size / 2 > room)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    *count = size / 2;
    memcpy(groups, both, *count);
    memcpy(places, both + *count, *count);
    return CUDA_SUCCESS;
}
