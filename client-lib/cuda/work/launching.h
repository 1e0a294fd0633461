// SPDX-License-Identifier: BSD-3-Clause
// Launching kernels.
#ifndef RGPU_CLIENT_LAUNCHING_H
#define RGPU_CLIENT_LAUNCHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/wire.h"

struct box_session;
struct object;

struct launch {
    const CUlaunchConfig *config;
    CUstream stream; // stream, instead of the configuration's
    CUfunction function;
    void **parameters;
    void **extra;
    bool room_beyond; // EXTRA may be longer than the parameters, as in launches of CUDA 3
    uint32_t flags;   // WIRE_LAUNCH_...
};
CUresult kernel_launch(const struct launch *launch);
// Packs the parameters of a kernel node for a graph of SESSION. The caller frees *OUT.
CUresult kernel_node_pack(const CUDA_KERNEL_NODE_PARAMS_v3 *node, struct box_session *session,
                          struct wire_kernel_node **out, size_t *size);
// The reverse: makes a block of the parameters, with pointers to each at its start. NULL: no
// memory.
void **kernel_node_unpack(struct object *function, const uint8_t *packed, size_t bytes);

#endif
