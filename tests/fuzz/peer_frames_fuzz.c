// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: frames of another box's worker, which another program of the client may control,
// over a peer link. The input is a row of frames, each followed by the beginning of its payload.
// Four copies are in progress over each of two links: on one the blocks follow their frames, on the
// other both ends map the blocks. A kernel's window is open.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"
#include "proto/wire.h"
#include "tests/fuzz/software_gpu.h"
#include "daemon/worker/peer/far_puts.h"
#include "daemon/worker/peer/kernel_windows.h"
#include "daemon/worker/peer/peer_frames.h"
#include "daemon/worker/peer/peer_jobs.h"
#include "daemon/worker/core/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const unsigned fuzz_mutations;
const unsigned fuzz_mutations = 300; // each has much done

enum {
    LINKS = 2,
    JOBS = 4,
    COPY_ROW = 4096, // of two planes of four rows, each plane a piece
    COPY_ROWS = 4,
    COPY_PLANES = 2,
    COPY_BYTES = COPY_ROW * COPY_ROWS * COPY_PLANES,
    WINDOW_BYTES = 64 * 1024,
    WINDOW_BLOCKS = 2,
    WINDOW_TAGS = 2,
    ROUNDS_MAX = 64,               // of the mover, after each frame
    SHOWN_MAX = WIRE_FAR_PUT_HEAD, // bytes of a payload that are the input's; the others are zeros
};

static const struct link_options options = {.block_size = WIRE_BLOCK_SIZE,
                                            .block_count = 2 * PEER_IN_BLOCKS};
static CUcontext context;
static CUdeviceptr memory[JOBS], window_memory, counters;
static struct link *far_ends[LINKS], *client;
static uint8_t payload[WIRE_BLOCK_SIZE];

// ---- the state before the first frame ----

static struct peer_link *link_of(unsigned number)
{
    return peer_link_find(number + 1);
}

static void connect_link(unsigned number)
{
    struct peer_link *link = link_of(number);

    if (link->direct)
        link_free(&link->direct);
    if (far_ends[number])
        link_free(&far_ends[number]);
    if (link_loop_pair(&options, &link->direct, &far_ends[number]))
        abort();
    // Blocks that both ends see are memory of the pair.
    if (number && (peer_blocks_make(&link->blocks) || peer_link_carry(link, link->direct, false)))
        abort();
    link->state = PEER_DIRECT;
    link->lost = CUDA_SUCCESS;
}

static void open_window(void)
{
    struct kernel_window *window = calloc(1, sizeof(*window));

    if (!window)
        abort();
    *window = (struct kernel_window){.number = 1,
                                     .context = context,
                                     .base = window_memory,
                                     .size = WINDOW_BYTES,
                                     .blocks = WINDOW_BLOCKS,
                                     .tags = WINDOW_TAGS,
                                     .counters = counters,
                                     .epoch = session.memory_epoch};
    window->signals = calloc(WINDOW_BLOCKS * WINDOW_TAGS + 1, sizeof(*window->signals));
    window->proxy_queue = calloc(1, sizeof(*window->proxy_queue) + 64 * sizeof(uint32_t));
    if (!window->signals || !window->proxy_queue)
        abort();
    kernel_windows = window;
}

static void start(void)
{
    context = software_gpu_start(&options);
    for (unsigned i = 0; i < JOBS; i++)
        if (driver.cuMemAlloc_v2(&memory[i], COPY_BYTES))
            abort();
    if (driver.cuMemAlloc_v2(&window_memory, WINDOW_BYTES) ||
        driver.cuMemAlloc_v2(&counters, WINDOW_BYTES) ||
        link_loop_pair(&options, &session.link, &client))
        abort();
    for (unsigned i = 0; i < LINKS; i++) {
        if (peer_link_add(i + 1, "box", 3))
            abort();
        connect_link(i);
    }
    open_window();
}

static void begin_jobs(struct peer_link *link)
{
    for (unsigned i = 0; i < JOBS; i++) {
        struct peer_job *job = peer_job_get(link, i + 1);
        if (!job)
            abort();
        job->owns = i / 2 == 0;
        job->sends = i % 2 == 0;
        job->context = context;
        job->total = COPY_BYTES;
        job->shape = (struct peer_shape){.address = memory[i],
                                         .pitch = COPY_ROW,
                                         .slice = COPY_ROW * COPY_ROWS,
                                         .width = COPY_ROW,
                                         .height = COPY_ROWS,
                                         .depth = COPY_PLANES};
        peer_job_begin(job);
    }
}

// ---- frames ----

// BEHIND: the data of a frame follows it on the link.
static void drain(struct link *link, bool behind)
{
    static uint8_t record[WIRE_RECORD_MAX], data[WIRE_BLOCK_SIZE];
    const struct wire_peer_frame *frame = (const void *)record;

    while (link_receive(link, record, sizeof(record), 0) > 0)
        if (behind && frame->bytes && link_receive_bulk(link, data, frame->bytes))
            abort();
}

// Advances the copies until none makes progress, and waits for the device copies that they begin.
static void advance(void)
{
    SCOPED_LOCK(&peer_mover.lock);
    for (int i = 0; i < ROUNDS_MAX && peer_mover.advance(); i++) {
        driver.cuCtxSynchronize();
        for (unsigned link = 0; link < LINKS; link++)
            drain(far_ends[link], link_of(link)->carriage == PEER_BEHIND);
        drain(client, false);
    }
}

static void take_payload(const struct wire_peer_frame *frame, const uint8_t **data, size_t *size)
{
    size_t shown = frame->bytes < SHOWN_MAX ? frame->bytes : SHOWN_MAX;

    shown = shown < *size ? shown : *size;
    memset(payload, 0, SHOWN_MAX);
    memcpy(payload, *data, shown);
    *data += shown;
    *size -= shown;
}

// False: the link is down.
static bool take(struct wire_peer_frame frame, const uint8_t **data, size_t *size)
{
    static uint8_t record[WIRE_RECORD_MAX];
    unsigned number = frame.peer % LINKS;
    struct peer_link *link = link_of(number);
    bool carries = frame.kind == PEER_DATA || frame.kind == PEER_PUT;

    frame.size = sizeof(frame);
    frame.peer = frame.peer < 16 ? number + 1 : frame.peer;
    if (carries) {
        frame.bytes %= WIRE_BLOCK_SIZE + 1;
        take_payload(&frame, data, size);
    }
    const struct peer_link *named = peer_link_find(frame.peer);
    bool shared = named && named->carriage == PEER_SHARED;
    if (carries && shared && frame.slot < PEER_IN_BLOCKS)
        memcpy(link->blocks.in[frame.slot].data, payload, SHOWN_MAX);
    if (link_send_bulk(far_ends[number], &frame, sizeof(frame), payload,
                       carries && !shared ? frame.bytes : 0) ||
        link_receive(link->direct, record, sizeof(record), 0) != sizeof(frame))
        abort();
    if (!peer_take_frame((const void *)record, link->direct))
        return true;
    peer_link_lose(link, CUDA_ERROR_DEVICE_UNAVAILABLE); // as its reader does
    return false;
}

// ---- the end of an input ----

static void end_jobs(struct peer_link *link)
{
    {
        SCOPED_LOCK(&peer_mover.lock);
        for (struct peer_job *job = link->jobs; job; job = job->next)
            if (job->here != HERE_ANNOUNCED) {
                peer_job_note(job, THERE_FAILED);
                peer_job_fail(job, CUDA_ERROR_UNKNOWN);
            }
    }
    advance();
    while (link->jobs) { // those that only the other end has named
        struct peer_job *job = link->jobs;
        link->jobs = job->next;
        if (job->here != HERE_ANNOUNCED)
            abort();
        free(job);
    }
}

// The other end has blocks that it has not given back.
static void take_back_blocks(struct peer_link *link)
{
    for (unsigned i = 0; i < (link->carriage == PEER_SHARED ? PEER_IN_BLOCKS : PEER_OUT_BLOCKS);
         i++)
        if (!link->blocks.out[i].idle)
            peer_block_give(&link->blocks, &link->blocks.out[i]);
}

static void reset(unsigned number)
{
    struct peer_link *link = link_of(number);

    end_jobs(link);
    take_back_blocks(link);
    if (link->lost != CUDA_SUCCESS)
        connect_link(number);
    link->job_count = link->half_known = 0;
    link->newest = 0;
    link->credits = PEER_IN_BLOCKS;
    link->uncredited = link->freed = link->lent = 0;
    link->put_first = link->put_count = 0;
    link->puts_over = 0;
    link->far_blocks = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_peer_frame frame;

    if (!peer_links)
        start();
    for (unsigned i = 0; i < LINKS; i++)
        begin_jobs(link_of(i));
    advance();
    while (size >= sizeof(frame)) {
        memcpy(&frame, data, sizeof(frame));
        data += sizeof(frame);
        size -= sizeof(frame);
        if (!take(frame, &data, &size))
            break;
        advance();
    }
    for (unsigned i = 0; i < LINKS; i++)
        reset(i);
    return 0;
}
