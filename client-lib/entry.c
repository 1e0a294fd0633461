// How programs reach the driver: by name, by table, and by error text.
#include "client-lib/exports.h"
#include "common/driver/error.h"
#include "common/driver/export_tables.h"
#include "common/driver/proc_address.h"

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    return proc_address_get(symbol, pfn, cudaVersion, flags, symbolStatus);
}

CUresult cuGetProcAddress_v2_ptsz(const char *symbol, void **pfn, int cudaVersion,
                                  cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
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

CUresult export_table_processor_groups(uint8_t *groups, size_t room, size_t *count)
{
    return remote_processor_groups(groups, room, count);
}

CUresult cuGetErrorName(CUresult error, const char **pStr)
{
    return cuda_error_get_name(error, pStr);
}

CUresult cuGetErrorString(CUresult error, const char **pStr)
{
    return cuda_error_get_text(error, pStr);
}
