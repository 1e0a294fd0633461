// SPDX-License-Identifier: BSD-3-Clause
// Launches kernels, and packs their parameters. Any thread may call.
#ifndef RGPU_CLIENT_LAUNCHING_H
#define RGPU_CLIENT_LAUNCHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/wire.h"

struct box_session;
struct object;

// The arguments of a launch, as in cuLaunchKernelEx. The program owns all memory.
struct launch {
    const CUlaunchConfig *config;
    CUstream stream; // used instead of the configuration's
    CUfunction function;
    void **parameters; // a pointer to each parameter; NULL: `extra` holds them
    void **extra;
    bool room_beyond; // the buffer in `extra` may be longer than the parameters, as in CUDA 3
    uint32_t flags;   // WIRE_LAUNCH_...
};
CUresult kernel_launch(const struct launch *launch);
// Packs the parameters of a kernel node of a graph of SESSION for a request. *SIZE is in bytes. The
// caller frees *OUT.
CUresult kernel_node_pack(const CUDA_KERNEL_NODE_PARAMS_v3 *node, struct box_session *session,
                          struct wire_kernel_node **out, size_t *size);
// Unpacks BYTES bytes of parameters of FUNCTION. Returns an array of pointers to the parameters,
// which lie in the same block of memory; the caller frees it. Returns NULL if memory has run out.
void **kernel_node_unpack(struct object *function, const uint8_t *packed, size_t bytes);

#endif
