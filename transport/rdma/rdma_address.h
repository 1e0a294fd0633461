// SPDX-License-Identifier: BSD-3-Clause
// Finds the addresses of this machine that belong to RDMA devices, and chooses those that a session
// uses.
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

int rdma_address_parse(const char *text, uint16_t port, struct rdma_address *out);
void rdma_address_text(const struct sockaddr *address, char *out, size_t room);

// An address of this machine and the device port that has it.
struct rdma_place {
    char address[INET6_ADDRSTRLEN];
    char device[64];
    uint8_t port;
};
enum { RDMA_PLACES_MAX = 32 };

// Lists the places that OPTIONS name, starting with the next in turn. Unusable places are left out,
// with the reason for the last one in TEXT. If OPTIONS name no places, lists one for each port of a
// device, and with NEAR only those on the network of NEAR. Returns their number, or -errno if there
// is none.
int rdma_places(struct rdma_event_channel *events, const struct rdma_options *options,
                const struct rdma_address *near, struct rdma_place out[RDMA_PLACES_MAX], char *text,
                size_t room);

// An identifier that is bound to the address, and so to its device. -errno.
int rdma_place_bind(struct rdma_event_channel *events, const char *address, uint16_t port,
                    struct rdma_cm_id **id);

#endif
