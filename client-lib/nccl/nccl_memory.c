// SPDX-License-Identifier: BSD-3-Clause
// Memory that a program allocates or registers by NCCL. It is ordinary memory here: all data pass
// through the staging memory of communicators, so registration gains nothing.
#include "client-lib/nccl/communicator.h"
#include "client-lib/nccl/nccl_failure.h"

static ncclResult_t not_between_boxes(const char *call)
{
    return nccl_refuse(
        ncclInvalidUsage,
        "%s is not supported between boxes: their GPUs do not reach each other's memory", call);
}

ncclResult_t ncclMemAlloc(void **memory, size_t size)
{
    CUdeviceptr made = 0;
    const char *why = loaded_open();
    if (!memory || !size)
        return nccl_refuse(ncclInvalidArgument, "ncclMemAlloc: no place for it, or no size");
    if (why)
        return nccl_refuse(ncclSystemError, "%s", why);
    ncclResult_t result = CU(cuMemAlloc_v2(&made, size));
    if (!result)
        *memory = (void *)(uintptr_t)made;
    return result;
}

ncclResult_t ncclMemFree(void *memory)
{
    const char *why = loaded_open();
    if (why)
        return nccl_refuse(ncclSystemError, "%s", why);
    return memory ? CU(cuMemFree_v2((CUdeviceptr)(uintptr_t)memory)) : ncclSuccess;
}

ncclResult_t ncclCommRegister(ncclComm_t comm, void *memory, size_t size, void **handle)
{
    ncclResult_t result = communicator_check(comm);
    if (!result && (!memory || !size || !handle))
        result =
            nccl_refuse(ncclInvalidArgument, "ncclCommRegister: something is NULL or of no size");
    if (!result)
        *handle = memory;
    return result;
}

ncclResult_t ncclCommDeregister(ncclComm_t comm, void *handle)
{
    (void)handle;
    return communicator_check(comm);
}

// Succeeds without a window, as NCCL does if windows are not supported.
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *memory, size_t size,
                                    ncclWindow_t *window, int flags)
{
    ncclResult_t result = communicator_check(comm);
    (void)memory, (void)size, (void)flags;
    if (!result && !window)
        result = nccl_refuse(ncclInvalidArgument, "ncclCommWindowRegister: no place for it");
    if (!result)
        *window = NULL;
    return result;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
    (void)comm;
    return window ? nccl_refuse(ncclInvalidArgument, "there is no such window") : ncclSuccess;
}

ncclResult_t ncclDevCommCreate(ncclComm_t comm, const void *requirements, void *made)
{
    (void)comm, (void)requirements, (void)made;
    return not_between_boxes("ncclDevCommCreate");
}

ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const void *made)
{
    (void)comm, (void)made;
    return not_between_boxes("ncclDevCommDestroy");
}
