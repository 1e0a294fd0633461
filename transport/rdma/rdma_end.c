// SPDX-License-Identifier: BSD-3-Clause
// Creates and frees the resources of one end: protection domain, completion queues, rings and
// registered memory. They exist before the ends connect.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "common/base/log.h"
#include "transport/rdma/rdma_private.h"

enum { FLAGS_ROOM = 64 * 1024, BLOCKS = 32 };

void rdma_explain_registration(int error, size_t size, char *text, size_t room)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_MEMLOCK, &limit);
    if ((error == -ENOMEM || error == -EAGAIN || error == -EPERM) &&
        limit.rlim_cur != RLIM_INFINITY)
        snprintf(text, room,
                 "%zu bytes cannot be registered: the limit of locked memory (RLIMIT_MEMLOCK, "
                 "ulimit -l) is %llu KiB; set LimitMEMLOCK=infinity in the service, or memlock "
                 "unlimited in /etc/security/limits.conf",
                 size, (unsigned long long)limit.rlim_cur / 1024);
    else
        snprintf(text, room, "%zu bytes cannot be registered: %s", size, strerror(-error));
}

// Maps the same pages twice, one mapping after the other, so that data beyond the ring's end
// continue at its start. Both ends of a link use this. A file would count against the program's
// limit of file sizes (RLIMIT_FSIZE).
static bool rdma_end_map_ring(uint8_t *at)
{
    uint8_t *second = at + RDMA_RING_SIZE;

    // With the old size 0 the kernel copies a shared mapping (mremap(2)).
    return mmap(at, RDMA_RING_SIZE, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0) != MAP_FAILED &&
           mremap(at, 0, RDMA_RING_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, second) != MAP_FAILED;
}

static int make_rings(struct rdma_end *end)
{
    uint8_t *base = mmap(NULL, RDMA_MEMORY_SIZE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (base == MAP_FAILED)
        return -errno;
    end->in = base;
    end->out = base + 2 * RDMA_RING_SIZE;
    end->tiny = base + 4 * RDMA_RING_SIZE;
    if (!rdma_end_map_ring(end->in) || !rdma_end_map_ring(end->out))
        return -errno;
    // A forked child has no use for them, and must not disturb the parent's.
    madvise(base, RDMA_MEMORY_SIZE, MADV_DONTFORK);
    return 0;
}

static int know_limits(struct rdma_end *end)
{
    struct ibv_device_attr limits;
    int r = verbs.ibv_query_device(end->context, &limits);

    if (r)
        return -r;
    end->regions_max = limits.max_mr > 0 ? (unsigned)limits.max_mr : 0;
    end->reads_in = (uint8_t)(limits.max_qp_rd_atom < 255 ? limits.max_qp_rd_atom : 255);
    end->reads_out = (uint8_t)(limits.max_qp_init_rd_atom < 255 ? limits.max_qp_init_rd_atom : 255);
    return 0;
}

// With a channel of its own, so that the threads that sleep for either do not wake each other.
static int make_queue(struct rdma_end *end, enum rdma_channel channel, int size)
{
    struct ibv_comp_channel *events = verbs.ibv_create_comp_channel(end->context);

    end->completions[channel] = events;
    if (events && !fcntl(events->fd, F_SETFL, O_NONBLOCK))
        end->queue[channel] = verbs.ibv_create_cq(end->context, size, NULL, events, 0);
    return end->queue[channel] ? 0 : -errno;
}

int rdma_end_prepare(struct rdma_end *end, struct ibv_context *context, char *text, size_t room)
{
    const char *step = "rings cannot be mapped";
    int r = make_rings(end);

    end->context = context;
    if (!r) {
        step = "a protection domain cannot be made";
        end->pd = verbs.ibv_alloc_pd(context);
        r = end->pd ? 0 : -errno;
    }
    if (!r) {
        step = "completion queues cannot be made";
        r = make_queue(end, RDMA_COMMANDS, RDMA_SENDS + RDMA_RECEIVES + 16);
        if (!r)
            r = make_queue(end, RDMA_BULK, RDMA_TRANSFERS + 16);
    }
    if (!r) {
        step = "the device does not tell its limits";
        r = know_limits(end);
    }
    if (r) {
        snprintf(text, room, "%s: %s", step, strerror(-r));
        return r;
    }
    end->rings = verbs.ibv_reg_mr(end->pd, end->in, RDMA_MEMORY_SIZE,
                                  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (!end->rings) {
        r = -errno;
        rdma_explain_registration(r, RDMA_MEMORY_SIZE, text, room);
    }
    return r;
}

int rdma_end_register_staging(struct rdma_end *end, const struct link_staging *staging, char *text,
                              size_t room)
{
    end->staging_mr =
        verbs.ibv_reg_mr(end->pd, staging->base, staging->size,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    if (end->staging_mr)
        return 0;
    int r = -errno;
    rdma_explain_registration(r, staging->size, text, room);
    return r;
}

int rdma_end_make_staging(struct rdma_end *end, uint32_t block_size, uint32_t block_count,
                          char *text, size_t room)
{
    struct link_staging *staging = &end->staging;

    staging->block_size = block_size ? block_size : WIRE_BLOCK_SIZE;
    staging->block_count = block_count ? block_count : BLOCKS;
    staging->blocks_offset = FLAGS_ROOM;
    staging->size = FLAGS_ROOM + (size_t)staging->block_size * staging->block_count;
    void *base =
        mmap(NULL, staging->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        snprintf(text, room, "no memory for %u blocks", staging->block_count);
        return -ENOMEM;
    }
    madvise(base, staging->size, MADV_DONTFORK);
    staging->base = base;
    staging->flags = base;
    end->owns_staging = true;
    return rdma_end_register_staging(end, staging, text, room);
}

struct rdma_end rdma_end_borrow(const struct rdma_end *end)
{
    struct rdma_end fresh = *end;

    fresh.borrows = true;
    fresh.events = NULL;
    memset(fresh.ids, 0, sizeof(fresh.ids));
    memset(fresh.pairs, 0, sizeof(fresh.pairs));
    return fresh;
}

static void rdma_end_free_resources(struct rdma_end *end)
{
    if (end->rings)
        verbs.ibv_dereg_mr(end->rings);
    if (end->staging_mr)
        verbs.ibv_dereg_mr(end->staging_mr);
    for (int channel = 0; channel < RDMA_CHANNELS; channel++) {
        if (end->queue[channel])
            verbs.ibv_destroy_cq(end->queue[channel]);
        if (end->completions[channel])
            verbs.ibv_destroy_comp_channel(end->completions[channel]);
    }
    if (end->pd)
        verbs.ibv_dealloc_pd(end->pd);
    if (end->in)
        munmap(end->in, RDMA_MEMORY_SIZE);
    if (end->owns_staging)
        munmap(end->staging.base, end->staging.size);
}

void rdma_end_close(struct rdma_end *end)
{
    rdma_end_drop_channels(end);
    if (!end->borrows)
        rdma_end_free_resources(end);
    if (end->events)
        verbs.rdma_destroy_event_channel(end->events);
    memset(end, 0, sizeof(*end));
}
