// SPDX-License-Identifier: BSD-3-Clause
// See opened_memory.h.
#include "client-lib/cuda/memory/opened_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/memory/physical_memory.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/memory/tokens.h"
#include "client-lib/cuda/objects/windows.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"
#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/scope.h"

_Static_assert(sizeof(CUipcMemHandle) == CONTROL_EXPORT_TOKEN_BYTES, "a token is a handle");

struct opened {
    CUipcMemHandle token;
    uint64_t context; // handle: another one has it at other addresses
    CUdeviceptr address;
    unsigned int count;
    struct opened *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct opened *all;

// ---- allocations ----

CUresult allocation_share(CUdeviceptr address, CUipcMemHandle *token)
{
    struct object *context;
    struct allocation found;
    CUipcMemHandle got;
    size_t used = 0;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!memory_find(address, &found) || found.host || found.memory || found.pool || found.imported)
        return CUDA_ERROR_INVALID_VALUE;
    bool entered;
    memory_mark_exported(address);
    result = memory_enter(&found, &entered);
    if (result == CUDA_SUCCESS)
        result = remote_allocation_share(address, &got, sizeof(got), &used);
    memory_leave(entered);
    if (result == CUDA_SUCCESS && used != sizeof(got))
        result = CUDA_ERROR_UNKNOWN;
    if (result == CUDA_SUCCESS)
        *token = got;
    return result;
}

// The caller holds the lock of the functions below.
static struct opened *opened_memory_find(const CUipcMemHandle *token, uint64_t context)
{
    struct opened *at = all;
    while (at && (at->context != context || memcmp(&at->token, token, sizeof(*token))))
        at = at->next;
    return at;
}

static CUresult opened_memory_enter(const struct object *context, uint64_t address, uint64_t size)
{
    struct allocation row = {.base = address,
                             .size = size,
                             .session = context->session,
                             .context = context->ctx.root,
                             .device = context->ctx.device,
                             .imported = true};
    int err = memory_add(&row);
    if (!err)
        windows_show(&row);
    else
        log_error("memory of another process is at an address that is taken here address=0x%llx "
                  "size=%llu error=\"%s\"",
                  (unsigned long long)address, (unsigned long long)size, strerror(-err));
    return err ? CUDA_ERROR_MAP_FAILED : CUDA_SUCCESS;
}

static CUresult redeem(const struct object *context, struct opened *opened)
{
    uint64_t size = 0;
    CUresult result =
        remote_allocation_redeem(&opened->address, &size, &opened->token, sizeof(opened->token));
    if (result != CUDA_SUCCESS)
        return result;
    result = opened_memory_enter(context, opened->address, size);
    if (result != CUDA_SUCCESS)
        remote_allocation_leave(opened->address);
    return result;
}

CUresult allocation_open(const CUipcMemHandle *token, CUdeviceptr *address)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!token_is_one(token))
        return CUDA_ERROR_INVALID_VALUE;
    SCOPED_LOCK(&lock);
    struct opened *opened = opened_memory_find(token, context->ctx.root);
    if (!opened) {
        opened = calloc(1, sizeof(*opened));
        if (!opened)
            return CUDA_ERROR_OUT_OF_MEMORY;
        opened->token = *token;
        opened->context = context->ctx.root;
        result = redeem(context, opened);
        if (result != CUDA_SUCCESS) {
            free(opened);
            return result;
        }
        opened->next = all;
        all = opened;
    }
    opened->count++;
    *address = opened->address;
    return CUDA_SUCCESS;
}

CUresult allocation_close(CUdeviceptr address)
{
    struct allocation gone;
    bool entered;
    CUresult result = process_ready();
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    struct opened **at = &all;
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    struct opened *opened = *at;
    if (!opened)
        return CUDA_ERROR_INVALID_VALUE;
    if (--opened->count)
        return CUDA_SUCCESS;
    *at = opened->next;
    free(opened);
    windows_forget(address);
    if (!memory_remove(address, &gone))
        return CUDA_SUCCESS; // it ended with its context
    result = memory_enter(&gone, &entered);
    if (result == CUDA_SUCCESS)
        result = remote_allocation_leave(address);
    memory_leave(entered);
    return result;
}

// ---- events ----

CUresult event_share(CUevent event, CUipcEventHandle *token)
{
    CUipcEventHandle got;
    size_t used = 0;
    CUresult result = process_ready();
    if (result != CUDA_SUCCESS)
        return result;
    const struct object *object = object_find(HANDLE_EVENT, event);
    if (!event)
        return CUDA_ERROR_INVALID_VALUE;
    if (!object || !object->event.interprocess)
        return CUDA_ERROR_INVALID_HANDLE;
    result = remote_event_share(event, &got, sizeof(got), &used);
    if (result == CUDA_SUCCESS && used != sizeof(got))
        result = CUDA_ERROR_UNKNOWN;
    if (result == CUDA_SUCCESS)
        *token = got;
    return result;
}

CUresult event_open(const CUipcEventHandle *token, CUevent *event)
{
    CUresult result = process_ready();
    if (result != CUDA_SUCCESS)
        return result;
    if (!token_is_one(token))
        return CUDA_ERROR_MAP_FAILED;
    result = remote_event_redeem(event, token, sizeof(*token));
    if (result == CUDA_SUCCESS)
        object_find(HANDLE_EVENT, *event)->event.interprocess = true;
    return result;
}

// ---- physical memory ----

CUresult physical_export(CUmemGenericAllocationHandle handle, int *fd)
{
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES];
    CUmemAllocationProp properties;
    size_t used = 0;
    CUresult result = physical_properties(handle, &properties);
    if (result != CUDA_SUCCESS)
        return result;
    if (!(properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return CUDA_ERROR_INVALID_VALUE;
    result = remote_memory_share(handle, token, sizeof(token), &used);
    return result == CUDA_SUCCESS ? token_give_file(token, used, fd) : result;
}

CUresult physical_import(int fd, CUmemGenericAllocationHandle *handle)
{
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES];
    CUmemGenericAllocationHandle made;
    uint64_t size = 0, granularity = 0;
    uint32_t device = 0;
    CUresult result = process_ready();
    if (result != CUDA_SUCCESS)
        return result;
    result = token_read_file(fd, token);
    if (result != CUDA_SUCCESS)
        return result;
    struct object *context;
    struct box_session *session = thread_context_object(&context) == CUDA_SUCCESS ? context->session
                                                                                  : sessions[0];
    result = remote_memory_redeem(&made, session->first_device, &size, &granularity, &device, token,
                                  sizeof(token));
    if (result == CUDA_ERROR_INVALID_HANDLE) // the driver's error for unknown memory
        result = CUDA_ERROR_UNKNOWN;
    if (result != CUDA_SUCCESS)
        return result;
    CUdevice ours = session_shown(session, device);
    physical_adopt(made, ours, size, granularity,
                   &(CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                          .location = {CU_MEM_LOCATION_TYPE_DEVICE, ours}});
    *handle = made;
    return CUDA_SUCCESS;
}
