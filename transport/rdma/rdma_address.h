// SPDX-License-Identifier: BSD-3-Clause
// Addresses of this machine that belong to RDMA devices, and the choice among them.
#ifndef RGPU_TRANSPORT_RDMA_ADDRESS_H
#define RGPU_TRANSPORT_RDMA_ADDRESS_H

#include <netinet/in.h>

#include "transport/rdma/rdma.h"
#include "transport/rdma/rdma_verbs.h"

struct rdma_address {
    union {
        struct sockaddr base;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
};

// Parses a numeric address; PORT in host byte order. Returns 0 or -EINVAL.
int rdma_address_parse(const char *text, uint16_t port, struct rdma_address *out);

// An address of this machine and its device port.
struct rdma_place {
    char address[INET6_ADDRSTRLEN];
    char device[64];
    uint8_t port;
};
enum { RDMA_PLACES_MAX = 32 };

// Lists the addresses that OPTIONS select, rotated by options->turn. Addresses that cannot be used
// are left out; TEXT receives the last reason. If OPTIONS select none: one for each device port
// and, if NEAR is set, only those on NEAR's network. Returns their number, or -errno if there is
// none.
int rdma_places(struct rdma_event_channel *events, const struct rdma_options *options,
                const struct rdma_address *near, struct rdma_place out[RDMA_PLACES_MAX], char *text,
                size_t room);

// Creates a connection identifier that is bound to the address and thereby to its device. Returns 0
// or -errno.
int rdma_place_bind(struct rdma_event_channel *events, const char *address, uint16_t port,
                    struct rdma_cm_id **id);

#endif
