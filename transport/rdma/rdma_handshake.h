// SPDX-License-Identifier: BSD-3-Clause
// The data that the two ends of an rdma link exchange while they connect, and their waits.
#ifndef RGPU_TRANSPORT_RDMA_HANDSHAKE_H
#define RGPU_TRANSPORT_RDMA_HANDSHAKE_H

#include "transport/rdma/rdma_private.h"

#define RDMA_MAGIC 0x41445247u

enum { RDMA_VERSION = 2 };

// The client's data in its request for a connection. There is room for 56 bytes; more may arrive.
struct rdma_hello {
    uint32_t magic;
    uint16_t version;
    uint16_t channel;
    uint8_t token[32];
    uint64_t ring; // where the worker may write, and with which key
    uint32_t key;
    uint32_t mtu; // largest packet that the client wants, bytes; 0: the path's
};
struct rdma_answer {
    uint32_t magic;
    uint16_t version;
    uint16_t channel;
    uint64_t ring;
    uint32_t key;
    uint32_t block_size, block_count;
    uint32_t mtu; // of the packets that the worker sends and takes
};

_Static_assert(sizeof(struct rdma_hello) == 56, "layout is part of the protocol");
_Static_assert(sizeof(struct rdma_answer) == 32, "layout is part of the protocol");

int rdma_open_events(struct rdma_end *end);
// The next event, which the caller acknowledges; NULL and *ERROR when the time has passed or WATCH
// ended (-ECONNRESET) or, with WATCH_SPEAKS, became readable (-ECANCELED).
struct rdma_cm_event *rdma_next_event(struct rdma_end *end, int watch, bool watch_speaks,
                                      uint64_t deadline, int *error);
struct rdma_conn_param rdma_parameters(const struct rdma_end *end, enum rdma_channel channel,
                                       const void *data, size_t size);

#endif
