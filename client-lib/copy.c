// Choosing the way of a linear copy, and the driver's linear copy calls.
#include "client-lib/copy.h"

#include <errno.h>
#include <string.h>

#include "client-lib/call.h"
#include "client-lib/copyout.h"
#include "client-lib/exports.h"
#include "client-lib/late_push.h"
#include "client-lib/memory.h"
#include "client-lib/stream.h"
#include "client-lib/thread.h"

enum { REPLIED_MAX = 16 * 1024 };

// Tells the box where our staging blocks are.
static int reach_staging(struct session *session)
{
    struct {
        struct wire_request head;
        struct args_host_reach args;
    } record = {
        .head = {.size = sizeof(record), .op = OP_host_reach},
        .args = {.address = (uintptr_t)session->staging->base, .size = session->staging->size,
                 .region = WIRE_REGION_STAGING},
    };
    int err = link_expose_staging(session->link, &record.args.key);
    void *room = err ? NULL : link_reserve(session->link, sizeof(record));
    if (!room)
        return -EPIPE;
    memcpy(room, &record, sizeof(record));
    link_commit(session->link);
    return 0;
}

int copy_start(struct session *session, struct session_error *error)
{
    session->staging = link_staging(session->link);
    session->reached = session->staging && !link_shares_memory(session->link);
    if (session->reached && reach_staging(session) != 0) {
        error->result = CUDA_ERROR_DEVICE_UNAVAILABLE;
        strcpy(error->text, "the link went down before the first call");
        return -1;
    }
    if (session->staging && staging_start(session) != 0) {
        error->result = CUDA_ERROR_OUT_OF_MEMORY;
        strcpy(error->text, "no memory for the session's staging blocks");
        return -1;
    }
    return 0;
}

bool copy_shared_name(const struct session *session, const void *host, size_t size, uint64_t *name)
{
    struct allocation found;
    uint64_t address = (uintptr_t)host;
    if (!session->staging || !memory_find(address, &found) || !(found.mapped || found.reached) ||
        found.session != session || size > found.base + found.size - address)
        return false;
    *name = WIRE_HOST(found.region, address - found.base);
    return true;
}

CUresult copy_host_to_device(struct session *session, CUdeviceptr dst, const void *src, size_t size,
                             CUstream stream, bool wait)
{
    uint64_t name;
    if (copy_shared_name(session, src, size, &name)) {
        CUresult result = remote_copy_to_device(dst, name, size, stream);
        return result == CUDA_SUCCESS && wait ? copy_fence(session, stream) : result;
    }
    // Page-locked memory is read when the stream comes to the copy, if anything may write to it
    // until then.
    struct allocation found;
    if ((session_expecting(session) || copyout_owed(session)) &&
        memory_find((uintptr_t)src, &found) && found.host) {
        CUresult result = wait || session->staging ? CUDA_ERROR_NOT_READY
                                                   : late_push(session, dst, src, size, stream);
        if (result == CUDA_ERROR_NOT_READY)
            result = copy_fence(session, stream);
        else
            return result;
        if (result != CUDA_SUCCESS)
            return result;
    }
    // The data leaves the program's memory before these return. A small copy needs no more; after a
    // large one programs expect, as the driver has it, that streams which do not wait for the
    // default one see it too.
    if (size <= WIRE_INLINE_MAX)
        return remote_write_rows(dst, size, size, 1, stream, src, size);
    CUresult result = session->staging ? staged_to_device(session, dst, src, size, stream)
                                       : streamed_to_device(session, dst, src, size, stream);
    return result == CUDA_SUCCESS && wait ? copy_fence(session, stream) : result;
}

CUresult copy_device_to_host(struct session *session, void *dst, CUdeviceptr src, size_t size,
                             CUstream stream, bool wait)
{
    uint64_t name;
    if (copy_shared_name(session, dst, size, &name)) {
        CUresult result = remote_copy_from_device(name, src, size, stream);
        return result == CUDA_SUCCESS && wait ? copy_fence(session, stream) : result;
    }
    // Memory that is not page-locked may be gone when the data comes: such copies are waited for.
    struct allocation found;
    if (!wait && !(memory_find((uintptr_t)dst, &found) && found.host))
        wait = true;
    // Where the box would have to write to us in two steps, a small reply carries the data.
    bool replied = wait && size <= (session->reached ? REPLIED_MAX : WIRE_INLINE_MAX);
    if (session->staging && !(session->reached && replied))
        return staged_from_device(session, dst, src, size, stream, wait);
    if (replied)
        return remote_read_rows(src, size, size, 1, stream, dst, size, &(size_t){0});
    return streamed_from_device(session, dst, src, size, stream, wait);
}

CUresult copy_begin(CUstream stream, struct session **session, CUstream *resolved)
{
    struct call call;
    call_begin(&call, 0);
    if (call.result == CUDA_SUCCESS && !call.session)
        call.result = call.stale ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    *resolved = (CUstream)(uintptr_t)call_stream(&call, stream, false);
    *session = call.session;
    return call.result;
}

static CUresult check_device_memory(CUdeviceptr address, size_t size, struct allocation *found)
{
    if (!memory_find(address, found) || size > found->base + found->size - address)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

// One direction of a copy between the program's memory and the GPU. Memory of another box than the
// current context's is reached through its own context and that one's default stream; what the current
// one's default stream has to do comes before it, and is waited for, since the two boxes do not wait for
// each other.
static CUresult between(CUdeviceptr device, void *host, size_t size, CUstream stream, bool wait,
                        bool to_gpu)
{
    struct session *session;
    struct allocation memory;
    bool entered = false;
    CUresult result = copy_begin(stream, &session, &stream);
    if (result != CUDA_SUCCESS || !size)
        return result;
    if (!host)
        return CUDA_ERROR_INVALID_VALUE;
    result = check_device_memory(device, size, &memory);
    if (result == CUDA_SUCCESS && memory.session != session) {
        if (stream)
            return CUDA_ERROR_INVALID_VALUE;
        result = copy_fence(session, stream);
        session = memory.session;
        wait = true;
        if (result == CUDA_SUCCESS)
            result = memory_enter(&memory, &entered);
    }
    if (result == CUDA_SUCCESS)
        result = to_gpu ? copy_host_to_device(session, device, host, size, stream, wait)
                        : copy_device_to_host(session, host, device, size, stream, wait);
    memory_leave(entered);
    return result;
}

static CUresult to_device(CUdeviceptr dst, const void *src, size_t size, CUstream stream, bool wait)
{
    return between(dst, (void *)src, size, stream, wait, true);
}

static CUresult from_device(void *dst, CUdeviceptr src, size_t size, CUstream stream, bool wait)
{
    return between(src, dst, size, stream, wait, false);
}

COPY_CALLS(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount),
           NULL, to_device(dstDevice, srcHost, ByteCount, used, true))
COPY_CALLS(cuMemcpyHtoDAsync_v2, _ptsz,
           (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream),
           hStream, to_device(dstDevice, srcHost, ByteCount, used, false))
COPY_CALLS(cuMemcpyDtoH_v2, _ptds, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount),
           NULL, from_device(dstHost, srcDevice, ByteCount, used, true))
COPY_CALLS(cuMemcpyDtoHAsync_v2, _ptsz,
           (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
           hStream, from_device(dstHost, srcDevice, ByteCount, used, false))
COPY_CALLS(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
           NULL, cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, used))
COPY_CALLS(cuMemsetD8_v2, _ptds, (CUdeviceptr dstDevice, unsigned char uc, size_t N),
           NULL, cuMemsetD8Async(dstDevice, uc, N, used))
COPY_CALLS(cuMemsetD16_v2, _ptds, (CUdeviceptr dstDevice, unsigned short us, size_t N),
           NULL, cuMemsetD16Async(dstDevice, us, N, used))
COPY_CALLS(cuMemsetD32_v2, _ptds, (CUdeviceptr dstDevice, unsigned int ui, size_t N),
           NULL, cuMemsetD32Async(dstDevice, ui, N, used))
COPY_CALLS(cuMemsetD2D8_v2, _ptds,
           (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height),
           NULL, cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, used))
COPY_CALLS(cuMemsetD2D16_v2, _ptds,
           (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height),
           NULL, cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, used))
COPY_CALLS(cuMemsetD2D32_v2, _ptds,
           (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height),
           NULL, cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, used))

// A copy whose direction follows from the addresses.
static CUresult unified(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream, bool wait)
{
    struct allocation to, from;
    struct session *session;
    CUstream resolved;
    CUresult result = copy_begin(stream, &session, &resolved);
    if (result != CUDA_SUCCESS || !size)
        return result;
    bool to_gpu = memory_find(dst, &to) && !to.host;
    bool from_gpu = memory_find(src, &from) && !from.host;
    if (to_gpu && from_gpu && to.session != from.session)
        return cuMemcpyPeer(dst, (CUcontext)(uintptr_t)to.context, src,
                            (CUcontext)(uintptr_t)from.context, size);
    if (to_gpu && from_gpu)
        return cuMemcpyDtoDAsync_v2(dst, src, size, stream);
    if (to_gpu)
        return to_device(dst, (const void *)(uintptr_t)src, size, stream, wait);
    if (from_gpu)
        return from_device((void *)(uintptr_t)dst, src, size, stream, wait);
    result = copy_fence(session, resolved);
    if (result == CUDA_SUCCESS)
        memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, size);
    return result;
}

COPY_CALLS(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount),
           NULL, unified(dst, src, ByteCount, used, true))
COPY_CALLS(cuMemcpyAsync, _ptsz,
           (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream),
           hStream, unified(dst, src, ByteCount, used, false))
