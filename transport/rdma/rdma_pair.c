// SPDX-License-Identifier: BSD-3-Clause
// The queue pair of one channel. librdmacm finds the peer and the attributes of the path. This file
// creates the pair itself, because some attributes (path MTU, service level, timers) can only be
// set in the state transitions, which librdmacm otherwise performs itself.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "transport/rdma/rdma_private.h"

static unsigned mtu_bytes(enum ibv_mtu mtu)
{
    return 128u << mtu;
}

// The largest that is no larger than BYTES.
static enum ibv_mtu mtu_of(unsigned bytes)
{
    enum ibv_mtu mtu = IBV_MTU_256;

    while (mtu < IBV_MTU_4096 && mtu_bytes(mtu + 1) <= bytes)
        mtu++;
    return mtu;
}

// A peer that does not answer counts as dead after all retries of one message. The timeout of one
// try is the largest power of two of which seven are below two thirds of DEAD_MS.
static uint8_t answer_timeout(uint32_t dead_ms)
{
    uint64_t limit_us = (uint64_t)dead_ms * 1000 * 2 / 3, attempts = RDMA_RETRIES + 1;
    uint8_t timeout = 1;

    while (timeout < 31 && attempts * (UINT64_C(4096) << (timeout + 1)) / 1000 <= limit_us)
        timeout++;
    return timeout;
}

// Every device supports the requested size of the send queue. The inline size is requested and read
// back, because some devices support none.
static struct ibv_qp *rdma_pair_create(struct rdma_end *end, enum rdma_channel channel,
                                       uint32_t *inline_max)
{
    struct ibv_qp_init_attr wanted = {
        .send_cq = end->queue[channel],
        .recv_cq = end->queue[channel],
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = channel == RDMA_COMMANDS ? RDMA_SENDS : RDMA_TRANSFERS,
                .max_recv_wr = channel == RDMA_COMMANDS ? RDMA_RECEIVES : 1,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = channel == RDMA_COMMANDS ? RDMA_INLINE_WANTED
                                                            : LINK_TRANSFER_TINY},
    };
    struct ibv_qp *pair = verbs.ibv_create_qp(end->pd, &wanted);

    if (!pair) {
        wanted.cap.max_inline_data = 0;
        pair = verbs.ibv_create_qp(end->pd, &wanted);
    }
    *inline_max = wanted.cap.max_inline_data;
    return pair;
}

// The peer writes records. Over the other channel only the listening worker reads and writes,
// unless both ends are workers.
static unsigned peer_access(const struct rdma_end *end, enum rdma_channel channel)
{
    if (channel == RDMA_COMMANDS)
        return IBV_ACCESS_REMOTE_WRITE;
    return end->is_worker && !end->options.mutual
               ? 0
               : IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
}

int rdma_pair_new(struct rdma_end *end, enum rdma_channel channel)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
    struct ibv_recv_wr *bad;
    uint32_t inline_max;
    int mask, r;

    end->pairs[channel] = rdma_pair_create(end, channel, &inline_max);
    if (!end->pairs[channel])
        return -errno;
    if (verbs.rdma_init_qp_attr(end->ids[channel], &attr, &mask))
        return -errno;
    attr.qp_access_flags = peer_access(end, channel);
    r = verbs.ibv_modify_qp(end->pairs[channel], &attr, mask | IBV_QP_ACCESS_FLAGS);
    if (r || channel != RDMA_COMMANDS)
        return -r;
    end->inline_max = inline_max;
    // Before the connection stands, so that the first message finds them.
    for (int i = 0; !r && i < RDMA_RECEIVES; i++) {
        struct ibv_recv_wr receive = {0};
        r = ibv_post_recv(end->pairs[channel], &receive, &bad);
    }
    return -r;
}

// Chooses the path; the packets' size is the smallest of the path's, this side's and the other
// side's (PEER_MTU, 0: none).
static void rdma_pair_choose_path(struct rdma_end *end, struct ibv_qp_attr *attr, unsigned peer_mtu)
{
    const struct rdma_options *options = &end->options;
    unsigned mtu = mtu_bytes(attr->path_mtu);

    if (options->mtu && options->mtu < mtu)
        mtu = options->mtu;
    if (peer_mtu && peer_mtu < mtu)
        mtu = peer_mtu;
    attr->path_mtu = mtu_of(mtu);
    if (options->service_level >= 0)
        attr->ah_attr.sl = (uint8_t)options->service_level;
    // The same address has a GID for each version of RoCE.
    if (options->gid_index >= 0 && attr->ah_attr.is_global)
        attr->ah_attr.grh.sgid_index = (uint8_t)options->gid_index;
    if (options->traffic_class && attr->ah_attr.is_global)
        attr->ah_attr.grh.traffic_class = options->traffic_class;
    end->path = (struct rdma_path){
        .mtu = mtu_bytes(attr->path_mtu),
        .service_level = attr->ah_attr.sl,
        .port = attr->ah_attr.port_num,
        .gid_index = attr->ah_attr.is_global ? attr->ah_attr.grh.sgid_index : -1,
    };
}

int rdma_pair_ready(struct rdma_end *end, enum rdma_channel channel, unsigned peer_mtu)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
    int mask, r;

    if (verbs.rdma_init_qp_attr(end->ids[channel], &attr, &mask))
        return -errno;
    rdma_pair_choose_path(end, &attr, peer_mtu);
    attr.min_rnr_timer = RDMA_RNR_TIMER; // librdmacm's is 0, which means 655 ms
    if (attr.max_dest_rd_atomic > end->reads_in)
        attr.max_dest_rd_atomic = end->reads_in;
    r = verbs.ibv_modify_qp(end->pairs[channel], &attr, mask | IBV_QP_MIN_RNR_TIMER);
    if (r)
        return -r;
    memset(&attr, 0, sizeof(attr));
    attr.qp_state = IBV_QPS_RTS;
    if (verbs.rdma_init_qp_attr(end->ids[channel], &attr, &mask))
        return -errno;
    attr.timeout = answer_timeout(end->dead_ms);
    attr.retry_cnt = RDMA_RETRIES;
    attr.rnr_retry = RDMA_RNR_RETRIES;
    if (attr.max_rd_atomic > end->reads_out)
        attr.max_rd_atomic = end->reads_out;
    return -verbs.ibv_modify_qp(end->pairs[channel], &attr,
                                mask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
}

// Waiting sends and receives end with an error, and the peer gets the end.
void rdma_end_disconnect(struct rdma_end *end)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    for (int channel = 0; channel < RDMA_CHANNELS; channel++) {
        if (!end->pairs[channel])
            continue;
        if (verbs.ibv_modify_qp(end->pairs[channel], &attr, IBV_QP_STATE))
            log_debug("a queue pair does not end");
        verbs.rdma_disconnect(end->ids[channel]);
    }
}

void rdma_end_drop_channels(struct rdma_end *end)
{
    for (int channel = 0; channel < RDMA_CHANNELS; channel++) {
        if (end->pairs[channel])
            verbs.ibv_destroy_qp(end->pairs[channel]);
        if (end->ids[channel])
            verbs.rdma_destroy_id(end->ids[channel]);
        end->pairs[channel] = NULL;
        end->ids[channel] = NULL;
    }
}

void link_rdma_describe(const struct link *link, char *text, size_t room)
{
    const struct rdma_end *end = &((const struct rdma_link *)link)->end;
    int used = snprintf(text, room, "%s port %u", verbs.ibv_get_device_name(end->context->device),
                        end->path.port);

    if (end->path.gid_index >= 0 && used < (int)room)
        used += snprintf(text + used, room - (size_t)used, " GID %d", end->path.gid_index);
    if (used < (int)room)
        snprintf(text + used, room - (size_t)used, " MTU %u service level %u", end->path.mtu,
                 end->path.service_level);
}
