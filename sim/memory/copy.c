// SPDX-License-Identifier: BSD-3-Clause
// By CUDA's rules, a copy from pageable memory returns when the source has been read, a copy to
// pageable memory when it is complete, and a copy between pinned and device memory at once.
#include "sim/memory/copy.h"

#include <stdlib.h>
#include <string.h>

#include "sim/array/array_tiles.h"
#include "sim/engine/capture.h"
#include "sim/engine/default_stream.h"
#include "sim/engine/memory.h"
#include "sim/engine/work_notes.h"

// Up to this size, a copy takes less time than its handover to the stream's thread.
#define BRIEF_BYTES ((size_t)64 << 10)

enum copy_place {
    PLACE_DEVICE,
    PLACE_PINNED,
    PLACE_PAGEABLE,
};

struct copy_operation {
    struct operation operation;
    struct copy_box box;
    enum copy_place to, from;
    void *staging;                 // packed source bytes; NULL: the source is read directly
    struct array_storage *held[2]; // arrays among the two sides; NULL: none
};

static size_t box_bytes(const struct copy_box *box)
{
    return box->width * box->height * box->depth;
}

// Computes the bytes from the first to the last that the box touches on one side. Returns false on
// overflow.
static bool side_span(const struct copy_side *side, const struct copy_box *box, size_t *span)
{
    size_t rows, layers;
    return !__builtin_mul_overflow(box->height - 1, side->pitch, &rows) &&
           !__builtin_mul_overflow(box->depth - 1, side->slice, &layers) &&
           !__builtin_add_overflow(rows, layers, span) &&
           !__builtin_add_overflow(*span, box->width, span);
}

static CUresult classify(const struct copy_side *side, const struct copy_box *box,
                         enum copy_place *place, bool *sync)
{
    size_t span;
    struct memory_range range;
    if (side->type == CU_MEMORYTYPE_ARRAY) {
        *place = PLACE_DEVICE;
        return CUDA_SUCCESS;
    }
    SIM_RETURN_IF(!side->address || !side_span(side, box, &span), CUDA_ERROR_INVALID_VALUE);
    bool known = memory_lookup(side->address, &range);
    bool whole = known && memory_lookup_span(side->address, span, &range);
    if (known && !memory_is_host(&range)) {
        SIM_RETURN_IF(!whole, CUDA_ERROR_INVALID_VALUE);
        // the host accesses managed memory, too
        *place = memory_is_managed(&range) ? PLACE_PINNED : PLACE_DEVICE;
        *sync |= range.sync_copies;
        return CUDA_SUCCESS;
    }
    SIM_RETURN_IF(side->type == CU_MEMORYTYPE_DEVICE && !whole, CUDA_ERROR_INVALID_VALUE);
    *place = whole ? PLACE_PINNED : PLACE_PAGEABLE;
    return CUDA_SUCCESS;
}

static void copy_rows(const struct copy_box *box, const char *source, size_t source_pitch,
                      size_t source_slice, char *destination, size_t destination_pitch,
                      size_t destination_slice)
{
    bool one_piece = box->height == 1 ||
                     (source_pitch == box->width && destination_pitch == box->width);
    for (size_t z = 0; z < box->depth; z++) {
        const char *from = source + z * source_slice;
        char *to = destination + z * destination_slice;
        if (one_piece) {
            memmove(to, from, box->width * box->height);
            continue;
        }
        for (size_t y = 0; y < box->height; y++)
            memmove(to + y * destination_pitch, from + y * source_pitch, box->width);
    }
}

static void move_box(const struct copy_box *box, const void *staging)
{
    char *destination = (char *)(uintptr_t)box->destination.address;
    if (staging)
        copy_rows(box, staging, box->width, box->width * box->height, destination,
                  box->destination.pitch, box->destination.slice);
    else
        copy_rows(box, (const char *)(uintptr_t)box->source.address, box->source.pitch,
                  box->source.slice, destination, box->destination.pitch, box->destination.slice);
}

static CUresult run_copy(struct operation *operation, struct stream *stream)
{
    struct copy_operation *copy = (struct copy_operation *)operation;
    move_box(&copy->box, copy->staging);
    if (copy->held[0] && copy->held[0]->tiles)
        array_tiles_written(copy->held[0], copy->box.destination.address, copy->box.destination.y,
                            copy->box.height, copy->box.destination.z, copy->box.depth);
    return CUDA_SUCCESS;
}

static uint8_t copy_memory_of(enum copy_place place)
{
    switch (place) {
    case PLACE_DEVICE: return CUPTI_MEMORY_DEVICE;
    case PLACE_PINNED: return CUPTI_MEMORY_PINNED;
    case PLACE_PAGEABLE: return CUPTI_MEMORY_PAGEABLE;
    }
    return CUPTI_MEMORY_UNKNOWN;
}

static void describe_copy(const struct operation *operation, struct work_note *note)
{
    const struct copy_operation *copy = (const struct copy_operation *)operation;
    bool to_device = copy->to == PLACE_DEVICE, from_device = copy->from == PLACE_DEVICE;
    note->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    note->copy = to_device     ? from_device ? CUPTI_COPY_DTOD : CUPTI_COPY_HTOD
                 : from_device ? CUPTI_COPY_DTOH
                               : CUPTI_COPY_HTOH;
    note->from = copy_memory_of(copy->from);
    note->to = copy_memory_of(copy->to);
    note->bytes = box_bytes(&copy->box);
}

static void release_copy(struct operation *operation)
{
    struct copy_operation *copy = (struct copy_operation *)operation;
    for (unsigned i = 0; i < 2; i++)
        if (copy->held[i])
            array_storage_put(copy->held[i]);
    free(copy->staging);
    free(copy);
}

static CUresult hold_array(const struct copy_side *side, struct array_storage **out)
{
    return side->type == CU_MEMORYTYPE_ARRAY ? array_hold_memory(side->array, out) : CUDA_SUCCESS;
}

static CUresult new_copy(const struct copy_box *box, enum copy_place to, enum copy_place from,
                         struct copy_operation **out)
{
    struct copy_operation *copy = operation_create(sizeof(*copy), run_copy, release_copy);
    SIM_RETURN_IF(!copy, CUDA_ERROR_OUT_OF_MEMORY);
    copy->operation.describe = describe_copy;
    copy->box = *box;
    copy->to = to;
    copy->from = from;
    CUresult result = hold_array(&copy->box.destination, &copy->held[0]);
    if (!result)
        result = hold_array(&copy->box.source, &copy->held[1]);
    if (result)
        operation_discard(&copy->operation);
    else
        *out = copy;
    return result;
}

static bool stage(struct copy_operation *copy)
{
    const struct copy_box *box = &copy->box;
    copy->staging = malloc(box_bytes(box));
    if (!copy->staging)
        return false;
    copy_rows(box, (const char *)(uintptr_t)box->source.address, box->source.pitch,
              box->source.slice, copy->staging, box->width, box->width * box->height);
    return true;
}

// Returns true if the caller has to wait for the end of the copy.
static bool must_wait(enum copy_manner manner, enum copy_place destination, enum copy_place source)
{
    switch (manner) {
    case COPY_SYNCHRONOUS: return destination != PLACE_DEVICE || source != PLACE_DEVICE;
    case COPY_ASYNCHRONOUS: return destination == PLACE_PAGEABLE;
    case COPY_STREAM_ORDER: return false;
    }
    return true;
}

// In a legacy default stream, a copy waits for the other device that it involves.
static CUresult copy_join(struct stream *stream, const struct copy_side *side,
                          enum copy_place place, struct operation *operation)
{
    struct memory_range range;
    if (!stream->legacy || place != PLACE_DEVICE || side->type == CU_MEMORYTYPE_ARRAY ||
        !memory_lookup(side->address, &range) || range.device == stream->context->device)
        return CUDA_SUCCESS;
    return default_stream_join(range.device, operation);
}

static CUresult submit(struct stream *stream, const struct copy_box *box, enum copy_manner manner)
{
    enum copy_place destination, source;
    bool sync = stream->context->flags & CU_CTX_SYNC_MEMOPS;
    SIM_TRY(classify(&box->destination, box, &destination, &sync));
    SIM_TRY(classify(&box->source, box, &source, &sync));
    struct copy_operation *copy;
    SIM_TRY(new_copy(box, destination, source, &copy));
    CUresult result = copy_join(stream, &box->destination, destination, &copy->operation);
    if (!result)
        result = copy_join(stream, &box->source, source, &copy->operation);
    if (result) {
        operation_discard(&copy->operation);
        return result;
    }
    bool wait = sync || must_wait(manner, destination, source);
    if (!wait && manner == COPY_ASYNCHRONOUS && source == PLACE_PAGEABLE) {
        // If no operation is before it, running the copy is the fastest way to read the source.
        wait = default_stream_clear(stream) || !stage(copy);
    }
    copy->operation.brief = wait || box_bytes(box) <= BRIEF_BYTES;
    if (wait)
        return stream_run(stream, &copy->operation);
    return stream_submit(stream, &copy->operation, NULL);
}

CUresult copy_prepare(const struct copy_box *box, struct operation **out)
{
    enum copy_place destination, source;
    bool sync = false;
    SIM_TRY(classify(&box->destination, box, &destination, &sync));
    SIM_TRY(classify(&box->source, box, &source, &sync));
    struct copy_operation *copy;
    SIM_TRY(new_copy(box, destination, source, &copy));
    copy->operation.brief = box_bytes(box) <= BRIEF_BYTES;
    *out = &copy->operation;
    return CUDA_SUCCESS;
}

static size_t copy_rows_of(const struct copy_side *side)
{
    return side->pitch ? side->slice / side->pitch : 0;
}

void copy_describe(const struct copy_box *box, CUDA_MEMCPY3D *out)
{
    const struct copy_side *to = &box->destination, *from = &box->source;
    *out = (CUDA_MEMCPY3D){
        .srcMemoryType = from->type,
        .dstMemoryType = to->type,
        .WidthInBytes = box->width,
        .Height = box->height,
        .Depth = box->depth,
    };
    if (from->type == CU_MEMORYTYPE_ARRAY) {
        out->srcArray = from->array;
        out->srcXInBytes = from->x;
        out->srcY = from->y;
        out->srcZ = from->z;
    } else {
        out->srcPitch = from->pitch;
        out->srcHeight = copy_rows_of(from);
    }
    if (to->type == CU_MEMORYTYPE_ARRAY) {
        out->dstArray = to->array;
        out->dstXInBytes = to->x;
        out->dstY = to->y;
        out->dstZ = to->z;
    } else {
        out->dstPitch = to->pitch;
        out->dstHeight = copy_rows_of(to);
    }
    if (from->type == CU_MEMORYTYPE_HOST)
        out->srcHost = (const void *)(uintptr_t)from->address;
    else if (from->type != CU_MEMORYTYPE_ARRAY)
        out->srcDevice = from->address;
    if (to->type == CU_MEMORYTYPE_HOST)
        out->dstHost = (void *)(uintptr_t)to->address;
    else if (to->type != CU_MEMORYTYPE_ARRAY)
        out->dstDevice = to->address;
}

// Refuses a synchronous copy, which would wait for work that is not queued.
static CUresult copy_capture(struct stream *stream, const struct copy_box *box,
                             enum copy_manner manner)
{
    struct capture_item item = {
        .params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                   .memcpy = {.copyCtx = object_handle(&stream->context->object)}}};
    if (manner == COPY_SYNCHRONOUS)
        return capture_refuse(stream);
    copy_describe(box, &item.params.memcpy.copyParams);
    return capture_add(stream, &item);
}

CUresult copy_submit(CUstream handle, const struct copy_box *box, enum copy_manner manner)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = CUDA_SUCCESS;
    if (capture_contains(stream))
        result = copy_capture(stream, box, manner);
    else if (box->width && box->height && box->depth)
        result = submit(stream, box, manner);
    return result;
}
