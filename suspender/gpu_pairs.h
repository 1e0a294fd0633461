// SPDX-License-Identifier: BSD-3-Clause
// The GPUs that the memory of a process is put back on, by those that it was on.
#ifndef RGPU_SUSPENDER_GPU_PAIRS_H
#define RGPU_SUSPENDER_GPU_PAIRS_H

#include "proto/cuda_abi.h"

enum { GPU_PAIRS_MAX = 64 };

struct gpu_pairs {
    CUcheckpointGpuPair list[GPU_PAIRS_MAX];
    unsigned count;
};

// Of UUID=UUID,... as nvidia-smi writes them, the old one first. NULL: it is something else, or there is no memory. Heap.
struct gpu_pairs *gpu_pairs_read(char *text);
// The driver wants to be told of every GPU that the process could see, each as one of each kind: those that are not
// named stay, or take the place of one that comes to theirs. After checkpoint_load().
void gpu_pairs_complete(struct gpu_pairs *pairs);

#endif
