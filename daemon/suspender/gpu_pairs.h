// SPDX-License-Identifier: BSD-3-Clause
// Pairs of GPUs for a restore: from which GPU to which one memory moves.
#ifndef RGPU_SUSPENDER_GPU_PAIRS_H
#define RGPU_SUSPENDER_GPU_PAIRS_H

#include "proto/cuda_abi.h"

enum { GPU_PAIRS_MAX = 64 };

struct gpu_pairs {
    CUcheckpointGpuPair list[GPU_PAIRS_MAX];
    unsigned count;
};

// Parses UUID=UUID,... in the format of nvidia-smi, the old GPU first. Modifies TEXT. The caller
// frees the result. Returns NULL if TEXT is malformed or memory is exhausted.
struct gpu_pairs *gpu_pairs_read(char *text);
// Adds pairs for all other GPUs, because the driver expects each visible GPU once on each side.
// Such a GPU is paired with itself or, if memory moves to it, with a GPU that memory leaves. Needs
// checkpoint_load().
void gpu_pairs_complete(struct gpu_pairs *pairs);

#endif
