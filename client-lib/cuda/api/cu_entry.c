// SPDX-License-Identifier: BSD-3-Clause
// Entry points of the driver: by name, by table, and the texts of errors.
#include <string.h>

#include "client-lib/cuda/api/exports.h"
#include "client_calls.h"
#include "common/driver/error.h"
#include "common/driver/export_tables.h"
#include "common/driver/proc_address.h"
#include "proto/wire.h"

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    return proc_address_get(symbol, pfn, cudaVersion, flags, symbolStatus);
}

CUresult cuGetProcAddress_v2_ptsz(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *symbolStatus)
{
    return proc_address_get(symbol, pfn, cudaVersion,
                            flags ? flags : CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                            symbolStatus);
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    return proc_address_get_v1(symbol, pfn, cudaVersion, flags);
}

CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    return export_table_get(ppExportTable, pExportTableId);
}

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

CUresult cuGetErrorName(CUresult error, const char **pStr)
{
    return cuda_error_get_name(error, pStr);
}

CUresult cuGetErrorString(CUresult error, const char **pStr)
{
    return cuda_error_get_text(error, pStr);
}
