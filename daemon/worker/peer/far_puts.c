// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/far_puts.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/peer/kernel_windows.h"
#include "daemon/worker/peer/peer_data.h"
#include "daemon/worker/core/session.h"
#include "worker_serve.h"

enum {
    PUT_REQUESTS_AT_ONCE = 64, // of a proxy queue, so that a busy one does not delay the others
    PIECE_MAX = WIRE_BLOCK_SIZE - WIRE_FAR_PUT_HEAD,
};

// ---- put requests ----

// An invalid put request is the program's error and is dropped.
static void refuse_put_request(struct kernel_window *window, const char *why)
{
    if (!window->reported)
        log_warn("a kernel asks for a put that cannot be, and nothing is written window=%u rank=%u "
                 "offset=%llu bytes=%llu tag=%d why=\"%s\"",
                 window->number, window->put_request.rank,
                 (unsigned long long)window->put_request.offset,
                 (unsigned long long)window->put_request.bytes, (int)window->put_request.tag, why);
    window->reported = true;
    kernel_window_end_put_request(window, window->put_request.block);
    window->put_request.turn = 0;
}

// The next put request leaves the proxy queue, where the kernel may change it at any time.
static bool take_put_request(struct kernel_window *window)
{
    struct wire_proxy_queue *box = window->proxy_queue;
    struct wire_put_request *slot = &box->slots[window->next % WIRE_PROXY_QUEUE_SLOTS];

    if (window->put_request.turn)
        return true;
    if (__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) != window->next + 1)
        return false;
    memcpy(&window->put_request, slot, sizeof(*slot));
    window->put_request.turn = 1;
    window->sent = 0;
    window->next++;
    __atomic_store_n(&box->taken, window->next, __ATOMIC_RELEASE);
    return true;
}

static struct peer_link *link_of(struct kernel_window *window, uint32_t *there)
{
    uint32_t member = window->put_request.rank / window->blocks;
    struct peer_link *link = NULL;

    if (member < KERNEL_MEMBERS_MAX && window->members[member].is_far) {
        *there = window->members[member].there;
        link = peer_link_find(window->members[member].peer);
    }
    return link && link->lost == CUDA_SUCCESS && link->state != PEER_RENDEZVOUS ? link : NULL;
}

static bool is_inline(const struct wire_put_request *put_request)
{
    return put_request->bytes <= WIRE_PUT_REQUEST_INLINE;
}

// Queues the copy of SIZE bytes of the put request's data into BLOCK.
static CUresult far_puts_fetch(struct kernel_window *window, struct peer_link *link,
                               struct peer_block *block, uint32_t size)
{
    uint8_t *data = block->data + WIRE_FAR_PUT_HEAD;
    uint64_t source = window->put_request.source + window->sent, start, end;
    CUstream stream;

    block->flies = false;
    if (is_inline(&window->put_request)) {
        memcpy(data, window->put_request.data, size);
        return CUDA_SUCCESS;
    }
    CUresult result = mover_stream(&peer_mover, window->context, 0, &stream);
    if (result == CUDA_SUCCESS && (!serve_find_range(source, &start, &end) || size > end - source))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = driver.cuMemcpyDtoHAsync_v2(data, source, size, stream);
    if (result == CUDA_SUCCESS)
        result = peer_block_record(block, window->context, stream);
    block->flies = result == CUDA_SUCCESS;
    return result;
}

// A piece goes on its way. False: it cannot, now or ever.
static bool far_puts_send_piece(struct kernel_window *window, struct peer_link *link,
                                uint32_t there)
{
    const struct wire_put_request *put_request = &window->put_request;
    uint64_t left = put_request->bytes - window->sent;
    uint32_t size = left < PIECE_MAX ? (uint32_t)left : PIECE_MAX;
    struct peer_block *block = link->put_count < PEER_PUTS_MAX ? peer_block_take(&link->blocks)
                                                               : NULL;

    if (!block)
        return false;
    if (far_puts_fetch(window, link, block, size) != CUDA_SUCCESS) {
        peer_block_give(&link->blocks, block);
        refuse_put_request(window, "the source is not memory of the GPU");
        return false;
    }
    const struct wire_far_put put = {.window = there,
                                     .block = put_request->rank % window->blocks,
                                     .tag = size == left ? put_request->tag
                                                         : WIRE_PUT_REQUEST_NO_TAG,
                                     .bytes = size,
                                     .offset = put_request->offset + window->sent};
    memcpy(block->data, &put, sizeof(put));
    block->offset = 0;
    block->size = WIRE_FAR_PUT_HEAD + size;
    block->job = NULL;
    block->source = NULL;
    peer_queue_push(&link->puts_out, block);
    window->sent += size;
    link->puts[(link->put_first + link->put_count++) % PEER_PUTS_MAX] =
        (struct peer_put){window->number, put_request->block, size == left};
    if (size == left)
        window->put_request.turn = 0;
    return true;
}

static bool take_put_requests(struct kernel_window *window)
{
    bool any = false;

    for (int i = 0; i < PUT_REQUESTS_AT_ONCE && take_put_request(window); i++) {
        uint32_t there = 0;
        struct peer_link *link = link_of(window, &there);
        if (!link)
            refuse_put_request(window, "there is no such rank on another box");
        else if (!far_puts_send_piece(window, link, there) && window->put_request.turn)
            break;
        any = true;
    }
    return any;
}

// The writes of the last kernels are there when they have ended, so their end is queried first.
bool far_puts_take_put_requests(void)
{
    bool any = false;

    peer_mover.eager = kernel_windows_run();
    for (struct kernel_window *window = kernel_windows; window; window = window->next_window)
        any |= take_put_requests(window);
    return any;
}

static bool has_put_requests(const struct kernel_window *window)
{
    return window->put_request.turn ||
           __atomic_load_n(&window->proxy_queue->slots[window->next % WIRE_PROXY_QUEUE_SLOTS].turn,
                           __ATOMIC_ACQUIRE) == window->next + 1;
}

// ---- to the other box ----

static void tell_of(struct peer_link *link, const struct peer_block *block)
{
    const struct wire_peer_frame frame = {.kind = PEER_PUT,
                                          .bytes = block->size,
                                          .slot = block->slot};

    peer_send_frame(link, frame, link->carriage == PEER_BEHIND ? block->data : NULL);
}

static void far_puts_send_block(struct peer_link *link, struct peer_block *block)
{
    switch (link->carriage) {
    case PEER_WRITTEN:
        if (peer_block_write(link, block))
            peer_link_lose(link, CUDA_ERROR_DEVICE_UNAVAILABLE);
        return;
    case PEER_SHARED:
        link->lent |= peer_block_bit(block); // until it comes back
        tell_of(link, block);
        return;
    case PEER_BEHIND: break;
    }
    link->credits--;
    tell_of(link, block);
    peer_block_give(&link->blocks, block);
}

void far_puts_written(struct peer_link *link, struct peer_block *block)
{
    if (link->lost == CUDA_SUCCESS)
        tell_of(link, block);
    peer_block_give(&link->blocks, block);
}

// CUDA_ERROR_NOT_READY while the copy of BLOCK is under way.
static CUresult far_puts_ask(const struct peer_block *block)
{
    if (!block->flies)
        return CUDA_SUCCESS;
    CUresult result = mover_enter(&peer_mover, block->completion.context);
    return result == CUDA_SUCCESS ? peer_block_ask(block) : result;
}

static bool far_puts_send_out(struct peer_link *link)
{
    bool any = false;
    CUresult result;

    while (link->puts_out.first && (link->lost != CUDA_SUCCESS || peer_has_room(link)) &&
           (result = far_puts_ask(link->puts_out.first)) != CUDA_ERROR_NOT_READY) {
        struct peer_block *block = peer_queue_pop(&link->puts_out);
        if (result != CUDA_SUCCESS) // it goes nowhere, and in its turn
            memset(block->data, 0, WIRE_FAR_PUT_HEAD);
        if (link->lost == CUDA_SUCCESS)
            far_puts_send_block(link, block);
        else
            peer_block_give(&link->blocks, block);
        any = true;
    }
    return any;
}

void far_puts_over(struct peer_link *link, uint64_t count)
{
    for (; count && link->put_count; count--, link->put_count--) {
        const struct peer_put *put = &link->puts[link->put_first++ % PEER_PUTS_MAX];
        struct kernel_window *window = put->ends ? kernel_window_find(put->window) : NULL;
        if (window)
            kernel_window_end_put_request(window, put->block);
    }
}

// ---- from the other box ----

// The queued part of a put: words that the GPU's own front end writes, several microseconds faster
// than a copy, and the signal, in one call of the driver. Running kernels do not delay these.
struct store_words {
    CUstreamBatchMemOpParams list[WIRE_PUT_REQUEST_INLINE / 4 + 1];
    unsigned count;
};

static void add_word(struct store_words *words, CUdeviceptr address, uint32_t value)
{
    words->list[words->count++].writeValue = (struct CUstreamMemOpWriteValueParams_st){
        .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = address, .value = value};
}

static void far_puts_add_data(struct store_words *words, CUdeviceptr to, const uint8_t *data,
                              uint32_t bytes)
{
    uint32_t value;

    for (uint32_t at = 0; at < bytes; at += sizeof(value)) {
        memcpy(&value, data + at, sizeof(value));
        add_word(words, to + at, value);
    }
}

static CUresult queue_words(struct store_words *words, CUstream stream)
{
    return words->count ? driver.cuStreamBatchMemOp_v2(stream, words->count, words->list, 0)
                        : CUDA_SUCCESS;
}

// Copies the data if the words cannot be written in that way.
static CUresult queue_store(struct kernel_window *window, const struct wire_far_put *put,
                            const uint8_t *data, const uint32_t *signals, CUstream stream)
{
    struct store_words words = {.count = 0};
    CUdeviceptr to = window->base + put->offset;
    CUresult result = CUDA_SUCCESS;

    if (put->bytes <= WIRE_PUT_REQUEST_INLINE && put->bytes % 4 == 0 && to % 4 == 0)
        far_puts_add_data(&words, to, data, put->bytes);
    else
        result = driver.cuMemcpyHtoDAsync_v2(to, data, put->bytes, stream);
    if (signals)
        add_word(&words, kernel_window_counter(window, signals), *signals);
    return result == CUDA_SUCCESS ? queue_words(&words, stream) : result;
}

// Queues the data and then the signal in one stream. A signal without data is written at once,
// unless data may still be in flight: earlier data of this link, and, as each counter is written in
// one order, data for the same window.
static CUresult far_puts_store(struct peer_link *link, struct kernel_window *window,
                               struct peer_block *block, const uint32_t *signals)
{
    CUstream stream;

    if (!block->put.bytes && !window->stores && !link->puts_stored.first) {
        if (signals)
            kernel_window_tell(window, signals);
        return CUDA_SUCCESS;
    }
    CUresult result = mover_stream(&peer_mover, window->context, 1, &stream);
    if (result == CUDA_SUCCESS)
        result = queue_store(window, &block->put, block->data + WIRE_FAR_PUT_HEAD, signals, stream);
    if (result == CUDA_SUCCESS)
        result = peer_block_record(block, window->context, stream);
    block->flies = result == CUDA_SUCCESS;
    window->stores += block->flies;
    return result;
}

static CUresult check_put(struct kernel_window *window, const struct peer_block *block,
                          const uint32_t *signals)
{
    const struct wire_far_put *put = &block->put;
    CUresult result = mover_enter(&peer_mover, window->context);

    if (result == CUDA_SUCCESS && (put->bytes != block->size - WIRE_FAR_PUT_HEAD ||
                                   !kernel_window_holds(window, put->offset, put->bytes) ||
                                   (put->tag != WIRE_PUT_REQUEST_NO_TAG && !signals)))
        result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

// Drops an invalid store, and its signal with it.
static void begin_store(struct peer_link *link, struct peer_block *block)
{
    struct wire_far_put *put = &block->put;

    memcpy(put, block->data, sizeof(*put)); // which may be memory of the other worker, too
    struct kernel_window *window = kernel_window_find(put->window);
    block->flies = false;
    if (!window) // its program has closed it
        return;
    uint32_t *signals = put->tag == WIRE_PUT_REQUEST_NO_TAG
                            ? NULL
                            : kernel_window_signals(window, put->block, put->tag);
    CUresult result = check_put(window, block, signals);
    if (result == CUDA_SUCCESS) {
        if (signals)
            ++*signals;
        result = far_puts_store(link, window, block, signals);
        if (result != CUDA_SUCCESS && signals)
            --*signals;
    }
    if (result == CUDA_SUCCESS)
        return;
    if (!window->reported)
        log_warn("a put of another box's kernel is not into the window, or signals what there is "
                 "not, and nothing is written window=%u offset=%llu bytes=%u block=%u tag=%d "
                 "result=%d",
                 put->window, (unsigned long long)put->offset, put->bytes, put->block,
                 (int)put->tag, (int)result);
    window->reported = true;
}

static void end_store(struct peer_link *link, struct peer_block *block)
{
    struct kernel_window *window = block->flies ? kernel_window_find(block->put.window) : NULL;

    if (window && window->stores)
        window->stores--;
    link->puts_over++;
    peer_block_return(link, block);
}

static bool far_puts_store_all(struct peer_link *link)
{
    bool any = false;

    while (link->puts_in.first) {
        struct peer_block *block = peer_queue_pop(&link->puts_in);
        begin_store(link, block);
        peer_queue_push(&link->puts_stored, block);
        any = true;
    }
    while (link->puts_stored.first &&
           far_puts_ask(link->puts_stored.first) != CUDA_ERROR_NOT_READY) {
        end_store(link, peer_queue_pop(&link->puts_stored));
        any = true;
    }
    return any;
}

static bool tell_over(struct peer_link *link)
{
    const struct wire_peer_frame frame = {.kind = PEER_PUT_OVER, .offset = link->puts_over};

    if (!link->puts_over)
        return false;
    link->puts_over = 0;
    peer_send_frame(link, frame, NULL);
    return true;
}

void far_puts_came(struct peer_link *link, struct peer_block *block)
{
    peer_queue_push(&link->puts_in, block);
}

bool far_puts_advance(struct peer_link *link)
{
    bool any = far_puts_send_out(link);

    any |= far_puts_store_all(link);
    return tell_over(link) || any;
}

static bool has_puts(const struct peer_link *link)
{
    return link->puts_out.first || link->puts_in.first || link->puts_stored.first ||
           link->puts_over;
}

bool far_puts_any(void)
{
    bool any = kernel_windows_may_run();

    for (const struct kernel_window *window = kernel_windows; window && !any;
         window = window->next_window)
        any = has_put_requests(window);
    for (const struct peer_link *link = peer_links; link && !any; link = link->next)
        any = has_puts(link);
    return any;
}

// ---- what the driver makes, in time ----

static CUstream store_stream(CUcontext context)
{
    SCOPED_LOCK(&peer_mover.lock);
    return mover_made_stream(&peer_mover, context, 1);
}

// The first write, before any signal is counted.
static CUresult write_first_words(struct kernel_window *window)
{
    struct store_words words = {.count = 0};
    CUstream stream = store_stream(window->context);

    add_word(&words, window->counters, 0);
    CUresult result = queue_words(&words, stream);
    return result == CUDA_SUCCESS ? driver.cuStreamSynchronize(stream) : result;
}

CUresult far_puts_ready(struct kernel_window *window)
{
    {
        SCOPED_LOCK(&peer_mover.lock);
        CUresult result = peer_mover_start() ? CUDA_ERROR_OUT_OF_MEMORY
                                             : mover_make_streams(&peer_mover, window->context);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return write_first_words(window);
}

CUresult far_puts_warm(uint32_t peer, CUcontext context)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_link_find(peer);
    if (!link)
        return CUDA_ERROR_INVALID_VALUE;
    peer_blocks_register(&link->blocks, context);
    return peer_blocks_warm(&link->blocks, context);
}

void far_puts_await(CUcontext context)
{
    CUstream stream = store_stream(context);

    if (stream)
        driver.cuStreamSynchronize(stream);
}
