// SPDX-License-Identifier: BSD-3-Clause
// Maps the GPUs that hold a process's memory to the GPUs that it returns to.
#ifndef RGPU_SUSPENDER_GPU_PAIRS_H
#define RGPU_SUSPENDER_GPU_PAIRS_H

#include "proto/cuda_abi.h"

enum { GPU_PAIRS_MAX = 64 };

struct gpu_pairs {
    CUcheckpointGpuPair list[GPU_PAIRS_MAX];
    unsigned count;
};

// Reads UUID=UUID,... as nvidia-smi prints them, the old GPU first. Changes TEXT. Returns NULL if
// TEXT is malformed or memory is missing; the caller frees the result.
struct gpu_pairs *gpu_pairs_read(char *text);
// Adds the other GPUs, because the driver expects every GPU that the process sees once on either
// side. A GPU that no pair names stays, or takes the place of a GPU that moves onto it. Needs
// checkpoint_load().
void gpu_pairs_complete(struct gpu_pairs *pairs);

#endif
