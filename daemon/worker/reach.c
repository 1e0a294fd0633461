// Copies between the GPU and the client's memory over a link that reaches it: a thread reads blocks
// from the client, or writes them there, while the GPU copies others. The client's processor has no
// part in it. The stream that a copy belongs to is held at a gate until its last byte has moved.
//
// A move takes staging blocks when its stream has come to it. One whose data was final from the
// start (the client's staging blocks) is fetched before, but only as long as blocks are left for
// moves whose turn it is: those end whatever else waits, so that none can wait for ever.
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "daemon/worker/reach.h"
#include "daemon/worker/reach_blocks.h"
#include "worker_serve.h"

enum { CARRIERS_MAX = 64, BLOCKS_KEPT = 4, POLL_BATCH = 16 };

// Streams of ours that carry the copies of all moves of a context, one for each direction: copies
// are queued there only when nothing is left to wait for, so none can hold up another.
struct carrier {
    CUcontext context;
    CUstream streams[2]; // by move_kind
};

// Memory of the client, by region number.
static struct {
    uint64_t address, size;
    uint32_t key;
} reached[WIRE_REGION_LIMIT];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static struct move *moves; // all below under lock; oldest first
static struct flight flights[FLIGHTS_MAX];
static struct flight *idle[FLIGHTS_MAX], *active[FLIGHTS_MAX]; // active: oldest first
static unsigned idle_count, active_count;
static _Atomic unsigned signals; // of the active
static struct carrier carriers[CARRIERS_MAX];
static CUcontext current; // the mover's

// Where the requests stand that are served one after the other: moves in a row in one stream, with
// nothing between them, need not wait for each other. The serving thread's, in its turn.
static struct {
    bool intact;
    CUstream stream;
    CUcontext context;
    enum move_kind kind;
    const struct move *last; // compared, not looked into: it may be over
} row;
static unsigned unready_failures; // moves that failed before their turn; under lock

// ---- contexts and their streams ----

static CUresult enter(CUcontext context)
{
    if (!context)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (current == context)
        return CUDA_SUCCESS;
    CUresult result = driver.cuCtxSetCurrent(context);
    current = result == CUDA_SUCCESS ? context : NULL;
    return result;
}

static CUresult make_carrier(struct carrier *carrier, CUcontext context)
{
    CUresult result = own_stream_create(&carrier->streams[0]);

    if (result != CUDA_SUCCESS)
        return result;
    result = own_stream_create(&carrier->streams[1]);
    if (result != CUDA_SUCCESS)
        driver.cuStreamDestroy_v2(carrier->streams[0]);
    else
        carrier->context = context;
    return result;
}

// The stream that carries MOVE, whose context is current then.
static CUresult carrier_of(const struct move *move, CUstream *out)
{
    struct carrier *unmade = NULL;
    CUresult result = enter(move->context);

    if (result != CUDA_SUCCESS)
        return result;
    for (unsigned i = 0; i < CARRIERS_MAX; i++) {
        if (carriers[i].context == move->context) {
            *out = carriers[i].streams[move->kind];
            return CUDA_SUCCESS;
        }
        if (!carriers[i].context && !unmade)
            unmade = &carriers[i];
    }
    result = unmade ? make_carrier(unmade, move->context) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *out = unmade->streams[move->kind];
    return result;
}

// ---- flights ----

static struct flight *begin(enum flight_stage stage, struct move *move, struct block *block)
{
    struct flight *flight = idle[--idle_count];

    *flight = (struct flight){.stage = stage, .move = move, .block = block};
    active[active_count++] = flight;
    return flight;
}

static void retire(const struct flight *flight)
{
    for (unsigned i = 0; i < active_count; i++) {
        if (active[i] != flight)
            continue;
        idle[idle_count++] = active[i];
        memmove(&active[i], &active[i + 1], (--active_count - i) * sizeof(active[0]));
        return;
    }
}

static void fail(struct move *move, CUresult result)
{
    int none = 0;

    if (move->result != CUDA_SUCCESS)
        return;
    move->result = result;
    unready_failures += !move->ready;
    atomic_compare_exchange_strong(&session.deferred, &none, (int)result);
    gate_open(move->gate, move->ticket); // nothing is to wait for data that will not come
}

static bool post_signal(struct flight *flight)
{
    struct link_transfer transfer = {
        .cookie = flight,
        .write = true,
        .local = &flight->value,
        .size = sizeof(flight->value),
        .remote = reached[WIRE_REGION_STAGING].address + pinned.staging->flags_offset +
                  (uint64_t)flight->index * 4,
        .key = reached[WIRE_REGION_STAGING].key,
    };

    flight->posted = link_transfer_start(session.link, &transfer) == 0;
    return flight->posted;
}

// Gives the device its part. False: it has too much to do. A link that is down is the reading
// thread's matter.
static bool post(struct flight *flight)
{
    struct link_transfer transfer = {.cookie = flight, .write = flight->stage == FLIGHT_STORING};
    uint32_t parts = box_parts(flight);

    for (; flight->parts_posted < parts; flight->parts_posted++) {
        box_part(flight, flight->parts_posted, &transfer);
        if (link_transfer_start(session.link, &transfer))
            return false;
    }
    flight->posted = true;
    if (flight->stage == FLIGHT_STORING)
        flight->move->stored += flight->size;
    return true;
}

static CUresult copy_to_device(struct flight *flight)
{
    struct move *move = flight->move;
    CUstream stream;
    CUresult result = carrier_of(move, &stream);

    if (result == CUDA_SUCCESS && move->box.width)
        result = box_copy(flight, stream);
    else if (result == CUDA_SUCCESS)
        result = driver.cuMemcpyHtoDAsync_v2(move->device + flight->offset, flight->block->data,
                                             flight->size, stream);
    if (result != CUDA_SUCCESS)
        return result;
    move->copied += flight->size;
    if (move->copied == move->size)
        result = gate_open_from(stream, move->gate, move->ticket);
    if (result == CUDA_SUCCESS)
        result = staging_mark(flight->block, move->context, stream);
    return result;
}

static CUresult copy_from_device(struct flight *flight)
{
    struct move *move = flight->move;
    CUstream stream;
    CUresult result = carrier_of(move, &stream);

    if (result == CUDA_SUCCESS && move->box.width)
        result = box_copy(flight, stream);
    else if (result == CUDA_SUCCESS)
        result = driver.cuMemcpyDtoHAsync_v2(flight->block->data, move->device + flight->offset,
                                             flight->size, stream);
    if (result == CUDA_SUCCESS)
        result = staging_mark(flight->block, move->context, stream);
    return result;
}

// The client may know of the data only after it is there, and the stream goes on only when the client
// can know.
static void open_when_told(struct move *move)
{
    if (move->kind == MOVE_FROM_DEVICE && move->finished == move->size &&
        move->result == CUDA_SUCCESS && (move->flag == FLAG_NONE || move->flag == FLAG_TOLD))
        gate_open(move->gate, move->ticket);
}

static bool end_flight(struct flight *flight)
{
    struct move *move = flight->move;

    staging_give(flight->block);
    reach_block_ended(move, flight->size);
    move->flying--;
    move->finished += flight->size;
    open_when_told(move);
    return true;
}

static bool copy_is_over(struct flight *flight)
{
    CUresult result = enter(flight->move->context);

    if (result == CUDA_SUCCESS && !staging_done(flight->block, &result))
        return false;
    if (result != CUDA_SUCCESS)
        fail(flight->move, result);
    return true;
}

// A flag that follows the move's data on the same queue cannot overtake it.
static bool tell_flag(struct move *move)
{
    if (move->flag != FLAG_WANTED || move->stored != move->size || !idle_count ||
        move->result != CUDA_SUCCESS)
        return false;
    struct flight *flight = begin(FLIGHT_SIGNALLING, move, NULL);
    flight->index = move->flag_index;
    flight->value = move->flag_value;
    if (!post_signal(flight)) {
        retire(flight);
        return false;
    }
    move->flag = FLAG_FLYING;
    move->flying++;
    return true;
}

// Takes a flight one step further. Whether it is over; *ANY is set where something happened.
static bool advance(struct flight *flight, bool *any)
{
    struct move *move = flight->move;
    CUresult result;

    switch (flight->stage) {
    case FLIGHT_SIGNALLING:
        return false; // the device tells
    case FLIGHT_FETCHING:
        if (!flight->posted && post(flight))
            *any = true;
        return false;
    case FLIGHT_FETCHED:
        if (move->result != CUDA_SUCCESS)
            return end_flight(flight);
        if (!move->ready)
            return false;
        *any = true;
        flight->stage = FLIGHT_COPYING;
        result = copy_to_device(flight);
        if (result != CUDA_SUCCESS)
            fail(move, result);
        return result != CUDA_SUCCESS && end_flight(flight);
    case FLIGHT_COPYING:
        if (!copy_is_over(flight))
            return false;
        *any = true;
        if (move->kind == MOVE_TO_DEVICE || move->result != CUDA_SUCCESS)
            return end_flight(flight);
        flight->stage = FLIGHT_STORING;
        post(flight);
        return false;
    case FLIGHT_STORING:
        if (!flight->posted && post(flight))
            *any = true;
        return false;
    }
    return false;
}

static bool advance_all(void)
{
    bool any = false;
    unsigned kept = 0;

    for (unsigned i = 0; i < active_count; i++) {
        if (advance(active[i], &any)) {
            idle[idle_count++] = active[i];
            any = true;
        } else {
            active[kept++] = active[i];
        }
    }
    active_count = kept;
    return any;
}

// What the device has done since.
static bool take_transfers(void)
{
    void *cookies[POLL_BATCH];
    int count = link_transfer_poll(session.link, cookies, POLL_BATCH);

    for (int i = 0; i < count; i++) {
        struct flight *flight = cookies[i];
        if (flight->stage != FLIGHT_SIGNALLING && ++flight->parts_over < box_parts(flight))
            continue;
        if (flight->stage == FLIGHT_FETCHING) {
            flight->stage = FLIGHT_FETCHED;
            continue;
        }
        if (flight->stage == FLIGHT_STORING) {
            end_flight(flight);
        } else if (flight->move) {
            flight->move->flag = FLAG_TOLD;
            flight->move->flying--;
            open_when_told(flight->move);
        } else {
            atomic_fetch_sub(&signals, 1);
        }
        retire(flight);
    }
    if (count > 0)
        pthread_cond_broadcast(&ended);
    return count > 0;
}

// ---- moves ----

static struct block *take_block(const struct move *move)
{
    if (idle_count == 0)
        return NULL;
    if (move->kind == MOVE_FROM_DEVICE)
        return staging_take(STAGING_PULL, false);
    return move->ready ? staging_take(STAGING_PUSH, false)
                       : staging_take_spare(STAGING_PUSH, BLOCKS_KEPT);
}

// Begins the next flight. False: it has to wait.
static bool issue_one(struct move *move)
{
    struct block *block = reach_blocks_ready(move) ? take_block(move) : NULL;

    if (!block)
        return false;
    struct flight *flight = begin(
        move->kind == MOVE_TO_DEVICE ? FLIGHT_FETCHING : FLIGHT_COPYING, move, block);
    flight->offset = move->issued;
    flight->size = reach_block_size(move);
    CUresult result = CUDA_SUCCESS;
    if (move->kind == MOVE_FROM_DEVICE)
        result = copy_from_device(flight);
    else if (!post(flight) && !flight->parts_posted)
        result = CUDA_ERROR_NOT_READY;
    if (result == CUDA_SUCCESS) {
        reach_block_began(move, flight->size);
        move->issued += flight->size;
        move->flying++;
        return true;
    }
    staging_give(block);
    retire(flight);
    if (result != CUDA_ERROR_NOT_READY)
        fail(move, result);
    return false;
}

static void look_whether_ready(struct move *move)
{
    CUresult result = enter(move->context);

    if (result == CUDA_SUCCESS && move->follows)
        result = move->follows->ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    else if (result == CUDA_SUCCESS)
        result = driver.cuEventQuery(move->start);
    if (result == CUDA_SUCCESS)
        move->ready = true;
    else if (result != CUDA_ERROR_NOT_READY)
        fail(move, result);
}

static bool issue(struct move *move)
{
    bool any = false;

    if (move->result == CUDA_SUCCESS && !move->ready) {
        look_whether_ready(move);
        any = move->ready;
    }
    if (move->result != CUDA_SUCCESS || !(move->ready || move->early))
        return any;
    while (move->issued < move->size && issue_one(move))
        any = true;
    return any;
}

// Whether the stream got as far as a move that failed before its turn is not known.
static void let_follow(const struct move *over)
{
    for (struct move *move = moves; move; move = move->next) {
        if (move->follows != over)
            continue;
        move->follows = NULL;
        if (over->ready)
            move->ready = true;
        else
            fail(move, over->result);
    }
}

static bool end_moves(void)
{
    bool any = false;

    for (struct move **at = &moves; *at;) {
        struct move *move = *at;
        bool wanted = move->finished != move->size || move->flag == FLAG_WANTED;
        if (move->flying || (move->result == CUDA_SUCCESS && wanted)) {
            at = &move->next;
            continue;
        }
        *at = move->next;
        let_follow(move);
        if (move->start && enter(move->context) == CUDA_SUCCESS)
            driver.cuEventDestroy_v2(move->start);
        gate_release(move->gate);
        free(move);
        pthread_cond_broadcast(&ended);
        any = true;
    }
    return any;
}

// ---- signals ----

static bool is_raised(const struct flight *flight)
{
    uint32_t now = __atomic_load_n(&pinned.staging->flags[flight->index], __ATOMIC_ACQUIRE);

    return (int32_t)(now - flight->value) >= 0;
}

// Passes on the flags that the GPU has raised.
static bool pass_signals(void)
{
    bool any = false;

    for (unsigned i = 0; i < active_count && atomic_load(&signals); i++) {
        struct flight *flight = active[i];
        if (flight->stage != FLIGHT_SIGNALLING || flight->posted || flight->move ||
            !is_raised(flight))
            continue;
        if (!post_signal(flight))
            break;
        any = true;
    }
    return any;
}

static bool raised_but_not_told(void)
{
    for (unsigned i = 0; i < active_count; i++)
        if (active[i]->stage == FLIGHT_SIGNALLING && !active[i]->move && is_raised(active[i]))
            return true;
    return false;
}

void reach_deliver(void)
{
    if (!session.reaches_memory || !atomic_load_explicit(&signals, memory_order_acquire))
        return;
    pthread_mutex_lock(&lock);
    while (raised_but_not_told()) {
        pthread_cond_signal(&added);
        pthread_cond_wait(&ended, &lock);
    }
    pthread_mutex_unlock(&lock);
}

// ---- the mover ----

static bool make_progress(void)
{
    bool any = take_transfers();

    any |= advance_all();
    for (struct move *move = moves; move; move = move->next)
        any |= issue(move);
    for (struct move *move = moves; move; move = move->next)
        any |= tell_flag(move);
    any |= pass_signals();
    any |= end_moves();
    return any;
}

static void sleep_us(uint32_t us)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)us * 1000;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&added, &lock, &until);
}

static void *mover_main(void *opaque)
{
    struct backoff backoff = {0};

    pthread_mutex_lock(&lock);
    for (;;) {
        while (!moves && !active_count) {
            backoff.since_us = 0;
            pthread_cond_wait(&added, &lock);
        }
        if (make_progress()) {
            backoff.since_us = 0;
            continue;
        }
        uint32_t us = backoff_next(&backoff);
        if (us) {
            sleep_us(us);
        } else {
            pthread_mutex_unlock(&lock);
            sched_yield();
            pthread_mutex_lock(&lock);
        }
    }
    return NULL;
}

int reach_start(void)
{
    pthread_t thread;

    staging_prepare();
    reach_blocks_start();
    for (idle_count = 0; idle_count < FLIGHTS_MAX; idle_count++)
        idle[idle_count] = &flights[idle_count];
    int err = pthread_create(&thread, NULL, mover_main, NULL);
    if (!err)
        pthread_detach(thread);
    return -err;
}

void reach_forget_context(CUcontext context)
{
    pthread_mutex_lock(&lock);
    for (struct move *move = moves; move; move = move->next)
        if (move->context == context) {
            move->context = NULL;
            fail(move, CUDA_ERROR_CONTEXT_IS_DESTROYED);
        }
    for (unsigned i = 0; i < CARRIERS_MAX; i++)
        if (carriers[i].context == context) {
            driver.cuStreamDestroy_v2(carriers[i].streams[0]);
            driver.cuStreamDestroy_v2(carriers[i].streams[1]);
            carriers[i].context = NULL;
        }
    if (current == context)
        current = NULL;
    pthread_mutex_unlock(&lock);
}

// ---- requests ----

void serve_host_reach(struct serve *serve, const struct args_host_reach *args)
{
    if (!session.reaches_memory || args->region >= WIRE_REGION_LIMIT || !args->size ||
        args->address + args->size < args->address || args->size > UINT64_C(1) << 48 ||
        reached[args->region].size) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    reached[args->region].address = args->address;
    reached[args->region].key = args->key;
    reached[args->region].size = args->size;
}

static bool is_used(uint32_t region)
{
    for (const struct move *move = moves; move; move = move->next)
        if (move->region == region)
            return true;
    return false;
}

void reach_forget_region(struct serve *serve, uint32_t region)
{
    if (!reached[region].size) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    pthread_mutex_lock(&lock);
    while (is_used(region))
        pthread_cond_wait(&ended, &lock);
    reached[region].size = 0;
    pthread_mutex_unlock(&lock);
}

// The move right before in the same stream, where nothing has come between; under lock.
static struct move *one_before(const struct move *move, CUstream stream)
{
    if (!row.intact || row.stream != stream || row.context != move->context ||
        row.kind != move->kind)
        return NULL;
    for (struct move *one = moves; one; one = one->next)
        if (one == row.last)
            return one->result == CUDA_SUCCESS ? one : NULL;
    return NULL;
}

static CUresult mark_start(struct move *move, CUstream stream)
{
    CUresult result = driver.cuEventCreate(&move->start, CU_EVENT_DISABLE_TIMING);

    return result == CUDA_SUCCESS ? driver.cuEventRecord(move->start, stream) : result;
}

// The client's stream stops where it is now until the move is over.
static CUresult place(struct move *move, CUstream stream)
{
    CUresult result = move->follows ? CUDA_SUCCESS : mark_start(move, stream);

    pthread_mutex_lock(&lock);
    while (result == CUDA_SUCCESS && (move->gate = gate_take(&move->ticket)) < 0)
        pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
    if (result == CUDA_SUCCESS)
        result = gate_hold(stream, move->gate, move->ticket);
    if (result == CUDA_SUCCESS)
        return result;
    if (move->gate >= 0)
        gate_release(move->gate);
    if (move->start)
        driver.cuEventDestroy_v2(move->start);
    return result;
}

// FAILURES: how many there had been when the move before was looked up.
static void append(struct move *move, unsigned failures)
{
    bool listed = false;

    pthread_mutex_lock(&lock);
    struct move **at = &moves;
    for (; *at; at = &(*at)->next)
        listed |= *at == move->follows;
    *at = move;
    if (move->follows && !listed) { // it has ended meanwhile
        move->follows = NULL;
        if (failures == unready_failures)
            move->ready = true;
        else
            fail(move, CUDA_ERROR_LAUNCH_FAILED);
    }
    pthread_cond_signal(&added);
    pthread_mutex_unlock(&lock);
}

void reach_break_row(void)
{
    row.intact = false;
}

bool reach_has(uint64_t host, uint64_t size)
{
    uint64_t offset = WIRE_HOST_OFFSET(host), limit = reached[WIRE_HOST_REGION(host)].size;

    return offset <= limit && size <= limit - offset;
}

// Both ranges have been checked.
static void add_move(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                     uint64_t size, const struct box *box, CUstream stream)
{
    uint32_t region = WIRE_HOST_REGION(host);
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
        .gate = -1,
    };
    pthread_mutex_lock(&lock);
    move->follows = one_before(move, stream);
    unsigned failures = unready_failures;
    pthread_mutex_unlock(&lock);
    row.intact = false;
    CUresult result = place(move, stream);
    serve_fail(serve, result);
    if (result != CUDA_SUCCESS) {
        free(move);
        return;
    }
    row.intact = true;
    row.stream = stream;
    row.context = move->context;
    row.kind = move->kind;
    row.last = move;
    append(move, failures);
}

void reach_copy(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                uint64_t size, CUstream stream)
{
    if (!size || !reach_has(host, size))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (!serve_failed(serve) && serve_device_range(serve, device, size))
        add_move(serve, to_device, device, host, size, &(struct box){0}, stream);
}

void reach_copy_box(struct serve *serve, const CUDA_MEMCPY3D *copy, CUstream stream)
{
    bool in = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
    uint64_t host = (uintptr_t)(in ? copy->srcHost : copy->dstHost);
    CUdeviceptr device = in ? copy->dstDevice : copy->srcDevice;
    struct box box = {
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
                 : copy->srcZ * box.device_slice + copy->srcY * box.device_pitch + copy->srcXInBytes;
    uint64_t rows = (uint64_t)copy->Height * copy->Depth;
    if (!rows || !box.width)
        return;
    // A row fits a block, and overlapping rows are nobody's wish.
    if (box.width > WIRE_INLINE_MAX || rows > UINT32_MAX ||
        (rows > 1 && (box.remote_pitch < box.width || box.device_pitch < box.width)))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (!serve_failed(serve))
        add_move(serve, in, device, host, rows * box.width, &box, stream);
}

bool reach_flag(CUstream stream, uint32_t index, uint32_t value)
{
    bool taken = false;

    if (!row.intact || row.stream != stream || row.kind != MOVE_FROM_DEVICE)
        return false;
    pthread_mutex_lock(&lock);
    for (struct move *move = moves; move && !taken; move = move->next) {
        if (move != row.last || move->flag != FLAG_NONE || move->result != CUDA_SUCCESS ||
            move->finished == move->size)
            continue;
        move->flag = FLAG_WANTED;
        move->flag_index = index;
        move->flag_value = value;
        taken = true;
    }
    if (taken)
        pthread_cond_signal(&added);
    pthread_mutex_unlock(&lock);
    return taken;
}

// The GPU raises our own flag; the mover passes it on.
void reach_signal(struct serve *serve, uint32_t index, uint32_t value)
{
    pthread_mutex_lock(&lock);
    if (idle_count > STAGING_BLOCKS_MAX / 2) {
        struct flight *flight = begin(FLIGHT_SIGNALLING, NULL, NULL);
        flight->index = index;
        flight->value = value;
        atomic_fetch_add(&signals, 1);
        pthread_cond_signal(&added);
    } else {
        serve_fail(serve, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    }
    pthread_mutex_unlock(&lock);
}
