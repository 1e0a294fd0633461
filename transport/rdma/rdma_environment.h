// SPDX-License-Identifier: BSD-3-Clause
// The client's settings for the RDMA fabric.
#ifndef RGPU_TRANSPORT_RDMA_ENVIRONMENT_H
#define RGPU_TRANSPORT_RDMA_ENVIRONMENT_H

#include "transport/rdma/rdma.h"

struct rdma_environment {
    struct rdma_options options;
    char devices[1024];
};
// From the environment (RGPU_RDMA_...); what makes no sense is ignored with a message. The numbers
// that a box gives its sessions follow one another, and so spread them over the devices.
void rdma_environment_read(struct rdma_environment *out, uint64_t session);

#endif
