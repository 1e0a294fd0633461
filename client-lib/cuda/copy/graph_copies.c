// SPDX-License-Identifier: BSD-3-Clause
// Copies as nodes of graphs, added by the program or captured.
#include "client-lib/cuda/copy/graph_copies.h"

#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/work/callbacks.h"
#include "client-lib/cuda/work/captures.h"
#include "client_calls.h"
#include "common/base/log.h"

// Names the host side of a copy: by the box's name of the memory, or by a callback from which the
// box requests the bytes.
static CUresult name_host_side(struct box_session *session, struct rect_copy *copy,
                               const CUDA_MEMCPY3D *program, struct wire_copy_node *out)
{
    bool to_device = copy->to.device;
    struct side *host = to_device ? &copy->from : &copy->to;
    uint64_t name;
    if (session->memory->maps_page_locked &&
        copy_shared_name(session, (void *)(uintptr_t)host->address, rect_extent(host, copy),
                         &name)) {
        host->address = name;
        return CUDA_SUCCESS;
    }
    struct callback_copy rows = {.host = (uint8_t *)(uintptr_t)host->address,
                                 .pitch = host->pitch,
                                 .slice = host->slice,
                                 .width = copy->width,
                                 .height = copy->height,
                                 .depth = copy->depth,
                                 .to_device = to_device};
    if (program)
        rows.program = *program;
    out->callback = callback_copy(session, &rows);
    host->address = 0; // the box cannot use this process's addresses
    return out->callback ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// Both sides are in this process: the graph calls this process to copy, as it calls host functions.
static CUresult name_copy_here(struct box_session *session, const struct rect_copy *copy,
                               const CUDA_MEMCPY3D *program, struct wire_copy_node *out)
{
    struct callback_copy rows = {.host = (uint8_t *)(uintptr_t)copy->to.address,
                                 .pitch = copy->to.pitch,
                                 .slice = copy->to.slice,
                                 .from = (const uint8_t *)(uintptr_t)copy->from.address,
                                 .from_pitch = copy->from.pitch,
                                 .from_slice = copy->from.slice,
                                 .width = copy->width,
                                 .height = copy->height,
                                 .depth = copy->depth};
    if (program)
        rows.program = *program;
    out->callback = callback_copy(session, &rows);
    return out->callback ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// A graph cannot copy memory of a GPU of another box.
static bool graph_copies_is_elsewhere(const struct box_session *session, const struct side *side)
{
    struct allocation found;
    return session_count > 1 && side->device && memory_find(side->address, &found) && !found.host &&
           found.session != session;
}

static CUresult graph_copies_describe(struct box_session *session, struct rect_copy copy,
                                      const CUDA_MEMCPY3D *program, struct wire_copy_node *out)
{
    CUresult result = CUDA_SUCCESS;
    if (graph_copies_is_elsewhere(session, &copy.from) ||
        graph_copies_is_elsewhere(session, &copy.to)) {
        log_error("a graph cannot copy memory of another box box=%s", session->box);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (!copy.from.device && !copy.to.device)
        return name_copy_here(session, &copy, program, out);
    if (copy.from.device != copy.to.device)
        result = name_host_side(session, &copy, program, out);
    out->copy = rect_request(&copy);
    return result;
}

CUresult graph_copy_describe(struct box_session *session, const CUDA_MEMCPY3D *program,
                             struct wire_copy_node *out)
{
    struct rect_copy copy;
    *out = (struct wire_copy_node){0};
    CUresult result = rect_read(program, &copy);
    return result == CUDA_SUCCESS ? graph_copies_describe(session, copy, program, out) : result;
}

bool graph_copy_is_here(const struct wire_copy_node *wire)
{
    return wire->callback && !wire->copy.WidthInBytes;
}

bool graph_copy_wanted(struct box_session *session, CUstream stream, bool wait, CUresult *result)
{
    CUstreamCaptureStatus status;
    if (!atomic_load_explicit(&session->captures, memory_order_relaxed))
        return false;
    *result = capture_status(session, stream, &status);
    if (*result != CUDA_SUCCESS)
        return true;
    if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && wait)
        *result = remote_cuStreamQuery(stream); // invalidates the capture, as the driver does
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult graph_copy_capture(struct box_session *session, const struct rect_copy *copy,
                            CUstream stream)
{
    struct wire_copy_node wire = {0};
    CUresult result = graph_copies_describe(session, *copy, NULL, &wire);
    // The box reports the end of the callback, also if the capture has failed.
    if (result != CUDA_SUCCESS)
        return result;
    return graph_copy_is_here(&wire) ? remote_capture_host(stream, wire.callback)
                                     : remote_capture_copy(stream, &wire, sizeof(wire));
}

CUresult graph_copy_capture_linear(struct box_session *session, struct side to, struct side from,
                                   size_t size, CUstream stream)
{
    struct rect_copy copy = {.from = from, .to = to, .width = size, .height = 1, .depth = 1};
    copy.from.pitch = copy.from.slice = copy.to.pitch = copy.to.slice = size;
    return graph_copy_capture(session, &copy, stream);
}
