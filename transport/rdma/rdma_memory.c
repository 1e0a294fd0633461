// SPDX-License-Identifier: BSD-3-Clause
// RDMA operations of the bulk channel and their memory, which is registered once and counted.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "transport/rdma/rdma_private.h"

enum {
    PAGE = 4096,
    POLL_BATCH = 16,
    READ_BACK_MS = 3000,
    READ_BACK_AT = RDMA_TRANSFERS * LINK_TRANSFER_TINY, // after the words of tiny writes
    ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
};
_Static_assert(2 * READ_BACK_AT <= PAGE, "words that are read back have room in the page");

// ---- registered memory ----

// Registering costs a good part of a microsecond for each page, so whole regions are, once.
static int register_range(struct rdma_link *rdma, uintptr_t start, uintptr_t end,
                          struct ibv_mr **mr)
{
    static _Atomic bool reported;
    char text[320];
    int r = rdma_regions_allow(&rdma->exposed, end - start);

    if (r)
        snprintf(text, sizeof(text),
                 "%zu bytes more are beyond the limits: %zu of %zu regions and "
                 "%llu of %llu MiB are registered",
                 (size_t)(end - start), rdma->exposed.registrations,
                 rdma->exposed.registrations_max, (unsigned long long)rdma->exposed.bytes >> 20,
                 (unsigned long long)rdma->exposed.bytes_max >> 20);
    *mr = r ? NULL : verbs.ibv_reg_mr(rdma->end.pd, (void *)start, end - start, ACCESS);
    if (!r && !*mr) {
        r = -errno;
        rdma_explain_registration(r, end - start, text, sizeof(text));
    }
    if (r && !atomic_exchange(&reported, true))
        log_warn("copies of this memory take the slower way: %s", text);
    if (r)
        return r;
    r = rdma_regions_add(&rdma->exposed, start, end, *mr);
    if (r)
        verbs.ibv_dereg_mr(*mr);
    return r;
}

int rdma_expose(struct link *link, void *base, size_t size, uint32_t *key)
{
    struct rdma_link *rdma = rdma_of(link);
    uintptr_t start = (uintptr_t)base & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)base + size + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    int r;

    if (rdma->end.owns_staging && base == rdma->end.staging.base) {
        *key = rdma->end.staging_mr->rkey;
        return 0;
    }
    SCOPED_LOCK(&rdma->region_lock);
    struct ibv_mr *mr = rdma_regions_hold(&rdma->exposed, start, end, &r);
    if (!r && !mr)
        r = register_range(rdma, start, end, &mr);
    if (!r)
        *key = mr->rkey;
    return r;
}

void rdma_conceal(struct link *link, void *base, size_t size)
{
    struct rdma_link *rdma = rdma_of(link);
    uintptr_t start = (uintptr_t)base & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)base + size + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

    SCOPED_LOCK(&rdma->region_lock);
    struct ibv_mr *mr = rdma_regions_release(&rdma->exposed, start, end);
    if (mr && !rdma->abandoned)
        verbs.ibv_dereg_mr(mr);
}

// Registered memory is locked. The machine keeps some memory for itself regardless of the user's
// limit, and the device supports a limited number of registrations, which other programs need too.
void rdma_regions_limit(struct rdma_link *rdma)
{
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    rdma->exposed.bytes_max = memory / 8 * 7;
    rdma->exposed.registrations_max = RDMA_REGIONS_MAX;
    if (rdma->end.regions_max / 4 < rdma->exposed.registrations_max)
        rdma->exposed.registrations_max = rdma->end.regions_max / 4;
}

void rdma_regions_free(struct rdma_link *rdma)
{
    struct ibv_mr *mr;

    while ((mr = rdma_regions_take_any(&rdma->exposed)))
        verbs.ibv_dereg_mr(mr);
}

// ---- memory of the worker's GPU ----

// The peer gets no right to memory that it need not reach.
int rdma_register_local(struct link *link, const struct link_local *memory,
                        struct link_registered **out)
{
    struct rdma_link *rdma = rdma_of(link);
    int access = memory->exposed ? ACCESS : IBV_ACCESS_LOCAL_WRITE;
    struct ibv_mr *mr;

    errno = 0;
    // Transfers use the addresses of the memory, also if it was registered as a dma-buf.
    if (memory->dmabuf < 0)
        mr = verbs.ibv_reg_mr(rdma->end.pd, memory->base, memory->size, access);
    else
        mr = verbs.ibv_reg_dmabuf_mr(rdma->end.pd, memory->offset, memory->size,
                                     (uintptr_t)memory->base, memory->dmabuf, access);
    if (!mr)
        return errno ? -errno : -EIO;
    *out = (struct link_registered *)mr;
    return 0;
}

uint32_t rdma_local_key(const struct link_registered *memory)
{
    return ((const struct ibv_mr *)memory)->rkey;
}

void rdma_unregister_local(struct link *link, struct link_registered *memory)
{
    if (!rdma_of(link)->abandoned)
        verbs.ibv_dereg_mr((struct ibv_mr *)memory);
}

// ---- one-sided operations ----

static int local_key(struct rdma_link *rdma, const struct link_transfer *transfer, uint32_t *key)
{
    uintptr_t start = (uintptr_t)transfer->local, end = start + transfer->size;
    const struct ibv_mr *staging = rdma->end.staging_mr;

    if (transfer->registered) {
        *key = ((const struct ibv_mr *)transfer->registered)->lkey;
        return 0;
    }
    if (staging && start >= (uintptr_t)staging->addr &&
        end <= (uintptr_t)staging->addr + staging->length) {
        *key = staging->lkey;
        return 0;
    }
    SCOPED_LOCK(&rdma->region_lock);
    const struct ibv_mr *mr = rdma_regions_find(&rdma->exposed, start, end);
    if (!mr)
        return -EFAULT;
    *key = mr->lkey;
    return 0;
}

static uint8_t *tiny_place(struct rdma_link *rdma, uint64_t number)
{
    return rdma->end.tiny + number % RDMA_TRANSFERS * LINK_TRANSFER_TINY;
}

// One word per operation, so that the caller's may change at once.
static void *tiny_copy(struct rdma_link *rdma, const struct link_transfer *transfer)
{
    uint8_t *place = tiny_place(rdma, rdma->transfers_started);

    memcpy(place, transfer->local, transfer->size);
    return place;
}

static int post_operation(struct rdma_link *rdma, uint64_t number, struct rdma_operation *operation)
{
    struct ibv_send_wr send = {
        .wr_id = number,
        .sg_list = &operation->part,
        .num_sge = 1,
        .opcode = operation->opcode,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = {.remote_addr = operation->remote, .rkey = operation->key},
    };
    struct ibv_send_wr *bad;

    return ibv_post_send(rdma->end.pairs[RDMA_BULK], &send, &bad);
}

int rdma_transfer_start(struct link *link, const struct link_transfer *transfer)
{
    struct rdma_link *rdma = rdma_of(link);
    struct rdma_operation operation = {
        .opcode = transfer->write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
        .part = {.addr = (uintptr_t)transfer->local, .length = transfer->size},
        .remote = transfer->remote,
        .key = transfer->key,
        .cookie = transfer->cookie,
    };
    int r;

    SCOPED_LOCK(&rdma->bulk_lock);
    if (rdma_is_lost(rdma) || rdma->transfers_started - rdma->transfers_done == RDMA_TRANSFERS)
        return -EAGAIN;
    if (transfer->write && transfer->size <= LINK_TRANSFER_TINY && !transfer->registered) {
        operation.part.addr = (uintptr_t)tiny_copy(rdma, transfer);
        operation.part.lkey = rdma->end.rings->lkey;
    } else {
        r = local_key(rdma, transfer, &operation.part.lkey);
        if (r)
            return link_fail(link, r, "a transfer of memory that is not registered");
    }
    r = post_operation(rdma, rdma->transfers_started, &operation);
    if (r)
        return link_fail(link, -r, "posting a transfer failed: %s", strerror(r));
    if (rdma->transfers_started == rdma->transfers_done)
        rdma->transfers_moved = clock_coarse_ns() / 1000000;
    rdma->operations[rdma->transfers_started++ % RDMA_TRANSFERS] = operation;
    atomic_fetch_add_explicit(transfer->write ? &link->sent : &link->received, transfer->size,
                              memory_order_relaxed);
    return 0;
}

static struct rdma_operation *operation_at(struct rdma_link *rdma, uint64_t number)
{
    return &rdma->operations[number % RDMA_TRANSFERS];
}

static void *take_cookie(struct rdma_link *rdma)
{
    return operation_at(rdma, rdma->transfers_done++)->cookie;
}

// Takes the cookies of operations that the device does not report; then one that it reports
// follows. Returns how many there are in COOKIES.
static int take_arrived(struct rdma_link *rdma, void **cookies, int taken, int room)
{
    while (taken < room && rdma->transfers_arrived &&
           operation_at(rdma, rdma->transfers_done)->arrived) {
        rdma->transfers_arrived--;
        cookies[taken++] = take_cookie(rdma);
    }
    return taken;
}

static int transfer_failed(struct rdma_link *rdma, enum ibv_wc_status status)
{
    if (status == IBV_WC_RETRY_EXC_ERR)
        return rdma_lose(rdma, -ETIMEDOUT, "the peer does not answer");
    if (status == IBV_WC_WR_FLUSH_ERR)
        return rdma_gone(rdma);
    return link_fail(&rdma->base, -EPROTO, "a transfer failed: %s",
                     verbs.ibv_wc_status_str(status));
}

int rdma_transfer_poll(struct link *link, void **cookies, int room)
{
    struct rdma_link *rdma = rdma_of(link);
    struct ibv_wc completions[POLL_BATCH];
    int taken, count = 0, most = room < POLL_BATCH ? room : POLL_BATCH;

    SCOPED_LOCK(&rdma->bulk_lock);
    taken = take_arrived(rdma, cookies, 0, most);
    if (rdma->transfers_arrived && taken + 1 < most)
        most = taken + 1;
    if (!rdma_is_lost(rdma) && taken < most)
        count = ibv_poll_cq(rdma->end.queue[RDMA_BULK], most - taken, completions);
    for (int i = 0; i < count; i++) {
        if (completions[i].status != IBV_WC_SUCCESS) {
            int r = transfer_failed(rdma, completions[i].status);
            return r ? r : taken;
        }
        RGPU_ASSERT(completions[i].wr_id == rdma->transfers_done);
        cookies[taken++] = take_cookie(rdma);
    }
    if (count < 0)
        return link_fail(link, -EIO, "completions cannot be polled");
    uint64_t now = clock_coarse_ns() / 1000000;
    if (taken || rdma->transfers_started == rdma->transfers_done || rdma_is_lost(rdma))
        rdma->transfers_moved = now;
    else if (now - rdma->transfers_moved > rdma->end.dead_ms) // for which the device has retries
        return rdma_lose(rdma, -ETIMEDOUT, "the peer does not answer");
    return taken;
}

// ---- operations after the loss of a connection ----

void rdma_transfers_halt(struct rdma_link *rdma)
{
    struct ibv_wc completions[POLL_BATCH];

    // Operations whose completion is dropped here are repeated, as the peer does not know it yet.
    while (ibv_poll_cq(rdma->end.queue[RDMA_BULK], POLL_BATCH, completions) > 0)
        ;
}

static bool is_tiny(struct rdma_link *rdma, uint64_t number)
{
    return operation_at(rdma, number)->part.addr == (uintptr_t)tiny_place(rdma, number);
}

// Waits until COUNT operations are complete.
static int await_operations(struct rdma_link *rdma, int count)
{
    uint64_t deadline = deadline_in(READ_BACK_MS);
    struct ibv_wc completion;

    while (count && deadline_left(deadline)) {
        int r = ibv_poll_cq(rdma->end.queue[RDMA_BULK], 1, &completion);
        if (r < 0 || (r && completion.status != IBV_WC_SUCCESS))
            return -ECONNRESET;
        count -= r;
        if (!r)
            sched_yield();
    }
    return count ? -ETIMEDOUT : 0;
}

// Reads the words that unfinished tiny writes are to change.
static int read_back(struct rdma_link *rdma)
{
    int count = 0;

    for (uint64_t number = rdma->transfers_done; number < rdma->transfers_started; number++) {
        if (!is_tiny(rdma, number))
            continue;
        struct rdma_operation read = *operation_at(rdma, number);
        read.opcode = IBV_WR_RDMA_READ;
        read.part.addr += READ_BACK_AT;
        memset(tiny_place(rdma, number) + READ_BACK_AT, 0, LINK_TRANSFER_TINY);
        if (post_operation(rdma, number, &read))
            return -ECONNRESET;
        count++;
    }
    return await_operations(rdma, count);
}

static bool is_flag_there(struct rdma_link *rdma, uint64_t number)
{
    const uint8_t *written = tiny_place(rdma, number);

    return is_tiny(rdma, number) &&
           !memcmp(written, written + READ_BACK_AT, operation_at(rdma, number)->part.length);
}

// A flag in the client's memory says that the data before it have arrived, and the client may use
// that memory again. So what was written before a flag that is there already is not repeated:
// writes of one connection arrive in order, and a flag takes each value once. Data that were read
// may have been lost on their way.
static void skip_arrived(struct rdma_link *rdma)
{
    bool arrived = false;

    rdma->transfers_arrived = 0;
    for (uint64_t number = rdma->transfers_started; number-- > rdma->transfers_done;) {
        struct rdma_operation *operation = operation_at(rdma, number);
        arrived = arrived || operation->arrived || is_flag_there(rdma, number);
        operation->arrived = arrived && operation->opcode == IBV_WR_RDMA_WRITE;
        rdma->transfers_arrived += operation->arrived;
    }
}

int rdma_transfers_repeat(struct rdma_link *rdma)
{
    int r = read_back(rdma);

    if (r)
        return r;
    skip_arrived(rdma);
    for (uint64_t number = rdma->transfers_done; number < rdma->transfers_started; number++)
        if (!operation_at(rdma, number)->arrived &&
            post_operation(rdma, number, operation_at(rdma, number)))
            return -ECONNRESET;
    rdma->transfers_moved = clock_coarse_ns() / 1000000;
    return 0;
}

// ---- waiting ----

// The queue stays armed until the event has come and has been read; what came before it was armed
// raises none, so the caller looks once more.
static int rdma_memory_arm(struct rdma_link *rdma)
{
    int r = ibv_req_notify_cq(rdma->end.queue[RDMA_BULK], 0);

    if (r)
        return link_fail(&rdma->base, -r, "transfers cannot be waited for: %s", strerror(r));
    rdma->transfers_armed = true;
    return 0;
}

static void rdma_memory_take_event(struct rdma_link *rdma)
{
    struct ibv_cq *queue;
    void *argument;

    if (verbs.ibv_get_cq_event(rdma->end.completions[RDMA_BULK], &queue, &argument))
        return;
    verbs.ibv_ack_cq_events(queue, 1);
    rdma->transfers_armed = false;
}

int rdma_transfer_wait(struct link *link, uint32_t us)
{
    struct rdma_link *rdma = rdma_of(link);
    struct timespec limit = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    struct pollfd wait[] = {{.fd = rdma->end.completions[RDMA_BULK]->fd, .events = POLLIN},
                            {.fd = rdma->nudge, .events = POLLIN}};
    uint64_t count;

    if (rdma_is_lost(rdma))
        wait[0].fd = -1;
    else if (!rdma->transfers_armed)
        return rdma_memory_arm(rdma);
    if (ppoll(wait, 2, &limit, NULL) <= 0)
        return 0;
    if (wait[0].revents)
        rdma_memory_take_event(rdma);
    if (wait[1].revents && read(rdma->nudge, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return link_fail(link, -errno, "transfers cannot be waited for: %s", strerror(errno));
    return 0;
}

void rdma_transfer_wake(struct link *link)
{
    rdma_ring_event(rdma_of(link)->nudge);
}
