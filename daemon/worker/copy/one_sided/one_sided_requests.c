// SPDX-License-Identifier: BSD-3-Clause
// Requests put a move into its stream; the mover (one_sided.c) executes it.
#include "daemon/worker/activity/activity.h"
#include "daemon/worker/copy/one_sided/one_sided_requests.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "proto/wire.h"
#include "daemon/worker/copy/parts/semaphores.h"
#include "common/base/copy_path.h"
#include "daemon/worker/copy/parts/direct.h"
#include "daemon/worker/copy/one_sided/one_sided.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

// The last move that was requested, and whether nothing else has been since: moves that follow each
// other in one stream form a row and need not wait for each other. The thread that serves a request
// uses it.
static struct {
    bool intact;
    CUstream stream;
    CUcontext context;
    enum move_kind kind;
    const struct move *last; // compared, not looked into: it may be over
} row;

void serve_host_reach(struct serve *serve, const struct args_host_reach *args)
{
    if (!one_sided.started || args->region >= WIRE_REGION_LIMIT || !args->size ||
        args->address + args->size < args->address || args->size > UINT64_C(1) << 48 ||
        reached[args->region].size) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    reached[args->region].address = args->address;
    reached[args->region].key = args->key;
    reached[args->region].size = args->size;
}

static bool one_sided_requests_is_used(uint32_t region)
{
    for (const struct move *move = one_sided.moves; move; move = move->next)
        if (move->region == region)
            return true;
    return false;
}

void one_sided_forget_region(struct serve *serve, uint32_t region)
{
    if (!reached[region].size) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    SCOPED_LOCK(&one_sided.mover.lock);
    while (one_sided_requests_is_used(region))
        pthread_cond_wait(&one_sided.mover.ended, &one_sided.mover.lock);
    reached[region].size = 0;
}

static bool one_sided_requests_overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

// If two moves write the same bytes, the later one must win. The device's writes have no order, so
// the later move waits for the earlier one. The caller holds the lock.
static bool crosses_another(const struct move *move)
{
    for (const struct move *one = one_sided.moves; one; one = one->next)
        if (move->kind == MOVE_TO_DEVICE
                ? one_sided_requests_overlap(one->device, one->size, move->device, move->size)
                : one_sided_requests_overlap(one->remote, one->size, move->remote, move->size))
            return true;
    return false;
}

// The last move in the same stream, unless it is over; under lock.
static struct move *one_ahead(CUcontext context, CUstream stream)
{
    for (struct move *one = one_sided.moves; one; one = one->next)
        if (one == row.last)
            return row.stream == stream && row.context == context ? one : NULL;
    return NULL;
}

// The move right before in the same stream, where nothing has come between; under lock.
static struct move *one_before(const struct move *move, CUstream stream)
{
    if (move->direct && crosses_another(move))
        return NULL;
    if (!row.intact || row.kind != move->kind)
        return NULL;
    struct move *one = one_ahead(move->context, stream);
    return one && one->result == CUDA_SUCCESS && !one->direct == !move->direct ? one : NULL;
}

static CUresult mark_start(struct move *move, CUstream stream)
{
    CUresult result = driver.cuEventCreate(&move->start, CU_EVENT_DISABLE_TIMING);

    return result == CUDA_SUCCESS ? driver.cuEventRecord(move->start, stream) : result;
}

// Those that are taken come free as other moves end.
static void await_semaphore(const struct semaphore_pass *pass, struct move *move)
{
    SCOPED_LOCK(&one_sided.mover.lock);
    while ((move->semaphore = semaphore_take(pass, SEMAPHORE_OF_COPY, &move->value)) < 0)
        pthread_cond_wait(&one_sided.mover.ended, &one_sided.mover.lock);
}

// The client's stream stops where it is now until the move is over.
static CUresult one_sided_requests_place(const struct semaphore_pass *pass, struct move *move,
                                         CUstream stream)
{
    CUresult result = move->follows ? CUDA_SUCCESS : mark_start(move, stream);

    if (result == CUDA_SUCCESS) {
        await_semaphore(pass, move);
        result = semaphore_wait(stream, move->semaphore, move->value);
    }
    if (result == CUDA_SUCCESS)
        return result;
    if (move->semaphore >= 0)
        semaphore_release(move->semaphore);
    if (move->start)
        driver.cuEventDestroy_v2(move->start);
    return result;
}

// FAILURES: how many there had been when the move before was looked up.
static void one_sided_requests_append(struct move *move, unsigned failures)
{
    bool listed = false, held = false;

    SCOPED_LOCK(&one_sided.mover.lock);
    struct move **at = &one_sided.moves;
    for (; *at; at = &(*at)->next) {
        listed |= *at == move->follows;
        held |= *at == move->behind;
    }
    *at = move;
    if (!held)
        move->behind = NULL;
    if (move->follows && !listed) { // it has ended meanwhile
        move->follows = NULL;
        if (failures == one_sided.unready_failures)
            move_is_ready(move);
        else
            move_fail(move, CUDA_ERROR_LAUNCH_FAILED);
    }
    mover_wake(&one_sided.mover);
}

void one_sided_break_row(void)
{
    row.intact = false;
}

bool one_sided_has(uint64_t host, uint64_t size)
{
    uint64_t offset = WIRE_HOST_OFFSET(host), limit = reached[WIRE_HOST_REGION(host)].size;

    return offset <= limit && size <= limit - offset;
}

// Bytes of the GPU's memory from the first to the last that the move touches.
static uint64_t device_extent(const struct move *move)
{
    const struct rect *box = &move->box;
    if (!box->width)
        return move->size;
    uint64_t rows = move->size / box->width, height = box->height < rows ? box->height : rows;
    return (rows / height - 1) * box->device_slice + (height - 1) * box->device_pitch + box->width;
}

static void one_sided_requests_choose_path(struct move *move)
{
    const struct direct_move direct = {.link = session.link,
                                       .address = move->device,
                                       .size = move->size,
                                       .context = move->context};
    bool may = !move->box.width && direct_may_hold(&direct);
    enum copy_path usual = move->size >= DIRECT_LEAST ? PATH_DIRECT : PATH_ONE_SIDED;
    unsigned usable = PATH_BIT(PATH_ONE_SIDED) | (may ? PATH_BIT(PATH_DIRECT) : 0);

    if (copy_path_choose(usable, usual, session.paths_forced) == PATH_DIRECT)
        move->direct = direct_hold(&direct);
}

// Both ranges have been checked.
static void add_move(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                     uint64_t size, const struct rect *box, CUstream stream)
{
    uint32_t region = WIRE_HOST_REGION(host);
    SEMAPHORE_PASS(pass);
    struct move *move = calloc(1, sizeof(*move));
    if (!move) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        return;
    }
    *move = (struct move){
        .kind = to_device ? MOVE_TO_DEVICE : MOVE_FROM_DEVICE,
        .device = device,
        .remote = reached[region].address + WIRE_HOST_OFFSET(host),
        .key = reached[region].key,
        .region = region,
        .size = size,
        .box = *box,
        .context = serve->current,
        .early = to_device && region == WIRE_REGION_STAGING,
        .semaphore = -1,
        .call = activity_in_pieces(stream),
    };
    one_sided_requests_choose_path(move);
    move->early &= !move->direct;
    unsigned failures;
    {
        SCOPED_LOCK(&one_sided.mover.lock);
        move->follows = one_before(move, stream);
        move->behind = one_ahead(move->context, stream);
        failures = one_sided.unready_failures;
    }
    row.intact = false;
    CUresult result = one_sided_requests_place(&pass, move, stream);
    serve_fail(serve, result);
    if (result != CUDA_SUCCESS) {
        if (move->direct)
            direct_release(move->direct);
        free(move);
        return;
    }
    atomic_fetch_add_explicit(move->direct ? &session.direct_moves : &session.staged_moves, 1,
                              memory_order_relaxed);
    row.intact = true;
    row.stream = stream;
    row.context = move->context;
    row.kind = move->kind;
    row.last = move;
    if (!move->direct)
        copied_range_begin(&move->copied_range, device, device_extent(move));
    one_sided_requests_append(move, failures);
}

void one_sided_copy(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                    uint64_t size, CUstream stream)
{
    if (!size || !one_sided_has(host, size))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (!serve_failed(serve) && serve_device_range(serve, device, size))
        add_move(serve, to_device, device, host, size, &(struct rect){0}, stream);
}

void one_sided_copy_box(struct serve *serve, const CUDA_MEMCPY3D *copy, CUstream stream)
{
    bool in = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
    uint64_t host = (uintptr_t)(in ? copy->srcHost : copy->dstHost);
    CUdeviceptr device = in ? copy->dstDevice : copy->srcDevice;
    struct rect box = {
        .width = copy->WidthInBytes,
        .height = copy->Height,
        .remote_pitch = in ? copy->srcPitch : copy->dstPitch,
        .device_pitch = in ? copy->dstPitch : copy->srcPitch,
    };

    box.remote_slice = box.remote_pitch * (in ? copy->srcHeight : copy->dstHeight);
    box.device_slice = box.device_pitch * (in ? copy->dstHeight : copy->srcHeight);
    host += in ? copy->srcZ * box.remote_slice + copy->srcY * box.remote_pitch + copy->srcXInBytes
               : copy->dstZ * box.remote_slice + copy->dstY * box.remote_pitch + copy->dstXInBytes;
    device += in ? copy->dstZ * box.device_slice + copy->dstY * box.device_pitch + copy->dstXInBytes
                 : copy->srcZ * box.device_slice + copy->srcY * box.device_pitch +
                       copy->srcXInBytes;
    uint64_t rows = (uint64_t)copy->Height * copy->Depth;
    if (!rows || !box.width)
        return;
    // A row has to fit a block. Rows that overlap would leave it open which of them wins.
    if (box.width > WIRE_INLINE_MAX || rows > UINT32_MAX ||
        (rows > 1 && (box.remote_pitch < box.width || box.device_pitch < box.width)))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (!serve_failed(serve))
        add_move(serve, in, device, host, rows * box.width, &box, stream);
}

bool one_sided_flag(CUstream stream, uint32_t index, uint32_t value)
{
    bool taken = false;

    if (!row.intact || row.stream != stream || row.kind != MOVE_FROM_DEVICE)
        return false;
    SCOPED_LOCK(&one_sided.mover.lock);
    for (struct move *move = one_sided.moves; move && !taken; move = move->next) {
        if (move != row.last || move->flag != FLAG_NONE || move->result != CUDA_SUCCESS ||
            move->finished == move->size)
            continue;
        move->flag = FLAG_WANTED;
        move->flag_index = index;
        move->flag_value = value;
        taken = true;
    }
    if (taken)
        mover_wake(&one_sided.mover);
    return taken;
}

// The GPU raises our own flag; the mover passes it on.
void one_sided_signal(struct serve *serve, uint32_t index, uint32_t value, CUstream stream)
{
    SCOPED_LOCK(&one_sided.mover.lock);
    if (!signal_begin(index, value, one_ahead(serve->current, stream)))
        serve_fail(serve, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}
