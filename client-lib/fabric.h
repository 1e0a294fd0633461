// How a client uses the RDMA fabric.
#ifndef RGPU_CLIENT_LIB_FABRIC_H
#define RGPU_CLIENT_LIB_FABRIC_H

#include "transport/rdma.h"

struct fabric {
    struct rdma_options options;
    char devices[1024];
};
// From the environment (RGPU_RDMA_...); what makes no sense is ignored with a message. The numbers
// that a box gives its sessions follow one another, and so spread them over the devices.
void fabric_read(struct fabric *out, uint64_t session);

#endif
