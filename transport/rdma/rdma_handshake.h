// SPDX-License-Identifier: BSD-3-Clause
// Private data that the two ends exchange to connect, and waiting for connection events.
#ifndef RGPU_TRANSPORT_RDMA_HANDSHAKE_H
#define RGPU_TRANSPORT_RDMA_HANDSHAKE_H

#include "transport/rdma/rdma_private.h"

#define RDMA_MAGIC 0x41445247u

enum { RDMA_VERSION = 2 };

// The client's data in its connection request, of which 56 bytes are guaranteed to arrive.
struct rdma_hello {
    uint32_t magic;
    uint16_t version;
    uint16_t channel;
    uint8_t token[32];
    uint64_t ring; // address and key of the ring that the worker writes to
    uint32_t key;
    uint32_t mtu; // maximum packet of the client in bytes; 0: that of the path
};
struct rdma_answer {
    uint32_t magic;
    uint16_t version;
    uint16_t channel;
    uint64_t ring;
    uint32_t key;
    uint32_t block_size, block_count;
    uint32_t mtu; // packet size of the worker
};

_Static_assert(sizeof(struct rdma_hello) == 56, "layout is part of the protocol");
_Static_assert(sizeof(struct rdma_answer) == 32, "layout is part of the protocol");

// Creates the end's non-blocking event channel. Returns 0 or -errno.
int rdma_open_events(struct rdma_end *end);
// Returns the next event, which the caller must acknowledge. Returns NULL and sets *ERROR after
// DEADLINE (-ETIMEDOUT), if WATCH closes (-ECONNRESET) or, with WATCH_SPEAKS, if it becomes
// readable (-ECANCELED).
struct rdma_cm_event *rdma_next_event(struct rdma_end *end, int watch, bool watch_speaks,
                                      uint64_t deadline, int *error);
struct rdma_conn_param rdma_parameters(const struct rdma_end *end, enum rdma_channel channel,
                                       const void *data, size_t size);

#endif
