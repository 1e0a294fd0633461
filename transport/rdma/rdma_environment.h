// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_TRANSPORT_RDMA_ENVIRONMENT_H
#define RGPU_TRANSPORT_RDMA_ENVIRONMENT_H

#include "transport/rdma/rdma.h"

struct rdma_environment {
    struct rdma_options options;
    char devices[1024];
};
// Reads the client's RDMA settings from the environment (RGPU_RDMA_...). Invalid values are ignored
// with a message. SESSION spreads the sessions of a box over the devices.
void rdma_environment_read(struct rdma_environment *out, uint64_t session);

#endif
