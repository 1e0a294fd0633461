// SPDX-License-Identifier: BSD-3-Clause
// Makes a program that `rgpuctl run` starts load rgpu's libraries instead of NVIDIA's.
#ifndef RGPU_ADMIN_CLIENT_LIBRARY_H
#define RGPU_ADMIN_CLIENT_LIBRARY_H

#include <stddef.h>

// Puts the directory of rgpu's libraries into the environment. Returns 0, or the exit status after
// printing the error.
int client_library_use(void);
// The same for libnccl.so.2, for a program with GPUs of BOXES boxes. To be called after
// client_library_use; RGPU_NCCL has been checked.
void client_library_use_nccl(size_t boxes);

#endif
