// SPDX-License-Identifier: BSD-3-Clause
// The rdma link: a session over verbs, with two queue pairs.
//
// Commands: records are written into a ring of the peer (RDMA WRITE with immediate data, which
// carries their size). Each side grants the other room in its ring and receives
// (docs/admin/rdma.md, "On the wire"). Bulk: the worker alone reads and writes memory that the
// client exposes, by RDMA READ and WRITE; the client's processor has no part in it.
#ifndef RGPU_TRANSPORT_RDMA_H
#define RGPU_TRANSPORT_RDMA_H

#include "transport/link/link.h"

// Settings of the fabric. Texts stay the caller's for as long as the listener or link lives.
struct rdma_options {
    // The devices to use, separated by commas, each by an address of this machine or by its name
    // (mlx5_0, or mlx5_0:1 for its first port). NULL or empty: all that have an address.
    const char *devices;
    unsigned turn;                  // sessions with different numbers are spread over the devices
    int gid_index;                  // the entry of the port's GID table; -1: that of the address
    unsigned mtu;                   // largest packet, bytes: 256, 512, ... 4096; 0: the path's
    int service_level;              // 0-15; -1: the fabric's
    uint8_t traffic_class;          // of the packets; the fabric makes a service level of it
    uint16_t first_port, last_port; // where workers listen; 0: anywhere
    uint32_t dead_ms;               // a peer that does not answer for so long is gone; 0: 10 s
    bool one_block;                 // of the worker: the client is to stage one block at a time
    // between two workers: each accesses the other's exposed memory; no staging
    bool mutual;
};
#define RDMA_OPTIONS_DEFAULT ((struct rdma_options){.gid_index = -1, .service_level = -1})

// The worker's side: device, protection domain, queues and rings are made and STAGING (NULL: none)
// is registered before a client comes. On failure the reason in words is in TEXT.
struct rdma_listener;
int rdma_listener_new(const struct rdma_options *options, const struct link_staging *staging,
                      struct rdma_listener **out, char *text, size_t room);
void rdma_listener_free(struct rdma_listener **listener);
const char *rdma_listener_address(const struct rdma_listener *listener);
uint16_t rdma_listener_port(const struct rdma_listener *listener);
const char *rdma_listener_device(const struct rdma_listener *listener);
// Accepts the client that presents TOKEN (32 bytes), once; everything else is refused. WATCH and
// the errors are as link_shm_accept()'s. On success the listener is the link's and *listener NULL.
int link_rdma_accept(struct rdma_listener **listener, const uint8_t token[32], int watch,
                     int timeout_ms, const struct link_options *options, struct link **out);

// The client's side. On failure the reason in words is in TEXT. WATCH as for link_shm_connect().
int link_rdma_connect(const char *address, uint16_t port, const uint8_t token[32], int watch,
                      int timeout_ms, const struct link_options *options,
                      const struct rdma_options *rdma, struct link **out, char *text, size_t room);

// Device, port, GID and packet size that this end of an rdma link uses, in words.
void link_rdma_describe(const struct link *link, char *text, size_t room);

#endif
