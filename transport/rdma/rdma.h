// SPDX-License-Identifier: BSD-3-Clause
// The rdma link: a session over verbs, with two queue pairs.
//
// Commands: records are written to a ring in the peer's memory (RDMA WRITE with immediate data,
// which states the size). Each side grants credit for ring space and receives (docs/admin/rdma.md,
// "On the wire"). Bulk: the worker reads and writes exposed memory of the client by RDMA READ and
// WRITE.
#ifndef RGPU_TRANSPORT_RDMA_H
#define RGPU_TRANSPORT_RDMA_H

#include "transport/link/link.h"

// Settings of the fabric. The caller owns the strings, which must outlive listener and link.
struct rdma_options {
    // Devices, separated by commas, each as an address of this machine or a device name (mlx5_0, or
    // mlx5_0:1 for its first port). NULL or "": all devices with an address.
    const char *devices;
    unsigned turn; // index that spreads sessions over the devices
    int gid_index; // index into the port's GID table; -1: GID of the address
    // maximum packet in bytes: 256, 512, ... 4096; 0: that of the path
    unsigned mtu;
    int service_level; // 0-15; -1: that of the path
    // traffic class of packets, which the fabric maps to a service level
    uint8_t traffic_class;
    uint16_t first_port, last_port; // ports on which workers listen; 0: any
    // time without answers after which a peer counts as dead; 0: 10 s
    uint32_t dead_ms;
    bool one_block; // worker: makes the client use one staging block at a time
    // two workers: each side accesses the other's exposed memory, without staging
    bool mutual;
};
#define RDMA_OPTIONS_DEFAULT ((struct rdma_options){.gid_index = -1, .service_level = -1})

// Worker: creates device resources, queues and rings and registers STAGING (may be NULL), before a
// client connects. On failure TEXT receives the reason.
struct rdma_listener;
int rdma_listener_new(const struct rdma_options *options, const struct link_staging *staging,
                      struct rdma_listener **out, char *text, size_t room);
void rdma_listener_free(struct rdma_listener **listener);
const char *rdma_listener_address(const struct rdma_listener *listener);
uint16_t rdma_listener_port(const struct rdma_listener *listener);
const char *rdma_listener_device(const struct rdma_listener *listener);
// Accepts the client that presents TOKEN (32 bytes) once, and rejects all others. WATCH and errors
// as for link_shm_accept(). On success the link owns the listener and *LISTENER is NULL.
int link_rdma_accept(struct rdma_listener **listener, const uint8_t token[32], int watch,
                     int timeout_ms, const struct link_options *options, struct link **out);

// Client: connects. On failure TEXT receives the reason. WATCH as for link_shm_connect().
int link_rdma_connect(const char *address, uint16_t port, const uint8_t token[32], int watch,
                      int timeout_ms, const struct link_options *options,
                      const struct rdma_options *rdma, struct link **out, char *text, size_t room);

// Lets the link survive the loss of its connection, before anything is sent or received, as
// link_tcp_survive() does. The link owns the connection WATCH from then on.
int link_rdma_survive(struct link *link, const struct link_reconnect *plan);

// Writes device, port, GID and packet size of this end.
void link_rdma_describe(const struct link *link, char *text, size_t room);

#endif
