// SPDX-License-Identifier: BSD-3-Clause
// RDMA operations of the bulk channel and their memory, which is registered once and counted.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "transport/rdma/rdma_private.h"

enum {
    PAGE = 4096,
    POLL_BATCH = 16,
    ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
};

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

// One word per operation, so that the caller's may change at once.
static void *tiny_copy(struct rdma_link *rdma, const struct link_transfer *transfer)
{
    uint8_t *place = rdma->end.tiny + rdma->transfers_started % RDMA_TRANSFERS * LINK_TRANSFER_TINY;

    memcpy(place, transfer->local, transfer->size);
    return place;
}

int rdma_transfer_start(struct link *link, const struct link_transfer *transfer)
{
    struct rdma_link *rdma = rdma_of(link);
    struct ibv_sge part = {.addr = (uintptr_t)transfer->local, .length = transfer->size};
    struct ibv_send_wr send = {
        .wr_id = rdma->transfers_started,
        .sg_list = &part,
        .num_sge = 1,
        .opcode = transfer->write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = {.remote_addr = transfer->remote, .rkey = transfer->key},
    };
    struct ibv_send_wr *bad;
    int r;

    if (rdma->transfers_started - rdma->transfers_done == RDMA_TRANSFERS)
        return -EAGAIN;
    if (transfer->write && transfer->size <= LINK_TRANSFER_TINY && !transfer->registered) {
        part.addr = (uintptr_t)tiny_copy(rdma, transfer);
        part.lkey = rdma->end.rings->lkey;
    } else {
        r = local_key(rdma, transfer, &part.lkey);
        if (r)
            return link_fail(link, r, "a transfer of memory that is not registered");
    }
    r = ibv_post_send(rdma->end.pairs[RDMA_BULK], &send, &bad);
    if (r)
        return link_fail(link, -r, "posting a transfer failed: %s", strerror(r));
    if (rdma->transfers_started == rdma->transfers_done)
        rdma->transfers_moved = clock_coarse_ns() / 1000000;
    rdma->cookies[rdma->transfers_started++ % RDMA_TRANSFERS] = transfer->cookie;
    atomic_fetch_add_explicit(transfer->write ? &link->sent : &link->received, transfer->size,
                              memory_order_relaxed);
    return 0;
}

int rdma_transfer_poll(struct link *link, void **cookies, int room)
{
    struct rdma_link *rdma = rdma_of(link);
    struct ibv_wc completions[POLL_BATCH];
    int count =
        ibv_poll_cq(rdma->end.queue[RDMA_BULK], room < POLL_BATCH ? room : POLL_BATCH, completions);

    for (int i = 0; i < count; i++) {
        if (completions[i].status == IBV_WC_RETRY_EXC_ERR)
            return link_fail(link, -ETIMEDOUT, "the peer does not answer");
        if (completions[i].status == IBV_WC_WR_FLUSH_ERR)
            return link_fail(link, -EPIPE, "the peer has gone");
        if (completions[i].status != IBV_WC_SUCCESS)
            return link_fail(link, -EPROTO, "a transfer failed: %s",
                             verbs.ibv_wc_status_str(completions[i].status));
        cookies[i] = rdma->cookies[rdma->transfers_done++ % RDMA_TRANSFERS];
    }
    if (count < 0)
        return link_fail(link, -EIO, "completions cannot be polled");
    uint64_t now = clock_coarse_ns() / 1000000;
    if (count || rdma->transfers_started == rdma->transfers_done)
        rdma->transfers_moved = now;
    else if (now - rdma->transfers_moved > rdma->end.dead_ms) // for which the device has retries
        return link_fail(link, -ETIMEDOUT, "the peer does not answer");
    return count;
}

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

    if (!rdma->transfers_armed)
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
