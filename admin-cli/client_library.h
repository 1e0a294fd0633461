// SPDX-License-Identifier: BSD-3-Clause
// Makes the program of `rgpuctl run` load rgpu's libraries instead of NVIDIA's.
#ifndef RGPU_ADMIN_CLIENT_LIBRARY_H
#define RGPU_ADMIN_CLIENT_LIBRARY_H

#include <stddef.h>

// Adds the directory of rgpu's libraries to LD_LIBRARY_PATH. Returns 0, or the exit status after it
// has printed an error.
int client_library_use(void);
// Also preloads rgpu's libnccl.so.2 (LD_PRELOAD), as RGPU_NCCL and the places of the GPUs demand
// (nccl_preload.h). ADDRESSES: those of the first box. Must follow client_library_use; RGPU_NCCL
// must be valid.
void client_library_use_nccl(size_t boxes, const char *addresses);

#endif
