// SPDX-License-Identifier: BSD-3-Clause
// How a program that `rgpuctl run` starts finds our libraries in place of others.
#ifndef RGPU_ADMIN_CLIENT_LIBRARY_H
#define RGPU_ADMIN_CLIENT_LIBRARY_H

#include <stddef.h>

// Puts their directory into the environment. 0, or the status to exit with; said on standard error.
int client_library_use(void);
// The same for libnccl.so.2, for a program with GPUs of so many boxes; RGPU_NCCL has been checked. Behind client_library_use.
void client_library_use_nccl(size_t boxes);

#endif
