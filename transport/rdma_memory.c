// One-sided operations of the bulk channel, and the memory that they reach: registered once,
// counted, and given up when nobody uses it any more.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "transport/rdma_private.h"

enum {
    PAGE = 4096,
    POLL_BATCH = 16,
    ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
};

// ---- registered memory ----

static struct rdma_region *find_region(struct rdma_link *rdma, uintptr_t start, uintptr_t end)
{
    for (size_t i = 0; i < rdma->region_count; i++)
        if (rdma->regions[i].start <= start && end <= rdma->regions[i].end)
            return &rdma->regions[i];
    return NULL;
}

static int add_region(struct rdma_link *rdma, const struct rdma_region *region)
{
    if (rdma->region_count == RDMA_REGIONS_MAX)
        return -ENOSPC;
    if (rdma->region_count == rdma->region_room) {
        size_t room = rdma->region_room ? 2 * rdma->region_room : 16;
        struct rdma_region *more = realloc(rdma->regions, room * sizeof(*more));
        if (!more)
            return -ENOMEM;
        rdma->regions = more;
        rdma->region_room = room;
    }
    rdma->regions[rdma->region_count++] = *region;
    return 0;
}

static int register_region(struct rdma_link *rdma, uintptr_t start, uintptr_t end)
{
    struct rdma_region region = {.start = start, .end = end};
    static _Atomic bool told;

    region.mr = verbs.ibv_reg_mr(rdma->end.pd, (void *)start, end - start, ACCESS);
    if (!region.mr) {
        char text[320];
        int error = -errno;
        rdma_explain_registration(error, end - start, text, sizeof(text));
        if (!atomic_exchange(&told, true))
            log_warn("copies of this memory take the slower way: %s", text);
        return error;
    }
    int r = add_region(rdma, &region);
    if (r)
        verbs.ibv_dereg_mr(region.mr);
    return r;
}

int rdma_expose(struct link *link, void *base, size_t size, uint32_t *key)
{
    struct rdma_link *rdma = rdma_of(link);
    uintptr_t start = (uintptr_t)base & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)base + size + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    int r = 0;

    if (rdma->end.owns_staging && base == rdma->end.staging.base) {
        *key = rdma->end.staging_mr->rkey;
        return 0;
    }
    pthread_mutex_lock(&rdma->region_lock);
    if (!find_region(rdma, start, end))
        r = register_region(rdma, start, end);
    if (!r) {
        struct rdma_region *region = find_region(rdma, start, end);
        region->uses++;
        *key = region->mr->rkey;
    }
    pthread_mutex_unlock(&rdma->region_lock);
    return r;
}

void rdma_conceal(struct link *link, void *base, size_t size)
{
    struct rdma_link *rdma = rdma_of(link);
    uintptr_t start = (uintptr_t)base & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)base + size + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

    pthread_mutex_lock(&rdma->region_lock);
    struct rdma_region *region = find_region(rdma, start, end);
    if (region && --region->uses == 0) {
        if (!rdma->abandoned)
            verbs.ibv_dereg_mr(region->mr);
        *region = rdma->regions[--rdma->region_count];
    }
    pthread_mutex_unlock(&rdma->region_lock);
}

void rdma_regions_free(struct rdma_link *rdma)
{
    while (rdma->region_count)
        verbs.ibv_dereg_mr(rdma->regions[--rdma->region_count].mr);
    free(rdma->regions);
    rdma->regions = NULL;
}

// ---- one-sided operations ----

static int local_key(struct rdma_link *rdma, const struct link_transfer *transfer, uint32_t *key)
{
    uintptr_t start = (uintptr_t)transfer->local, end = start + transfer->size;
    const struct ibv_mr *staging = rdma->end.staging_mr;
    int r = -EFAULT;

    if (staging && start >= (uintptr_t)staging->addr &&
        end <= (uintptr_t)staging->addr + staging->length) {
        *key = staging->lkey;
        return 0;
    }
    pthread_mutex_lock(&rdma->region_lock);
    struct rdma_region *region = find_region(rdma, start, end);
    if (region) {
        *key = region->mr->lkey;
        r = 0;
    }
    pthread_mutex_unlock(&rdma->region_lock);
    return r;
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
    if (transfer->write && transfer->size <= LINK_TRANSFER_TINY) {
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
    rdma->cookies[rdma->transfers_started++ % RDMA_TRANSFERS] = transfer->cookie;
    atomic_fetch_add_explicit(transfer->write ? &link->sent : &link->received, transfer->size,
                              memory_order_relaxed);
    return 0;
}

int rdma_transfer_poll(struct link *link, void **cookies, int room)
{
    struct rdma_link *rdma = rdma_of(link);
    struct ibv_wc completions[POLL_BATCH];
    int count = ibv_poll_cq(rdma->end.queue[RDMA_BULK], room < POLL_BATCH ? room : POLL_BATCH,
                            completions);

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
    return count < 0 ? link_fail(link, -EIO, "completions cannot be polled") : count;
}
