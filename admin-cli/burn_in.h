// SPDX-License-Identifier: BSD-3-Clause
// Tests the GPUs that a program would see here, for `rgpuctl test`.
#ifndef RGPU_ADMIN_CLI_BURN_IN_H
#define RGPU_ADMIN_CLI_BURN_IN_H

#include <stdint.h>

// Loads the client library at PATH into this process and tests each GPU: its memory with two
// patterns, arithmetic of many threads, copies each way, and copies to each other GPU. Prints a
// line for each test. BYTES of memory are tested; 0: nearly all that is free. Returns 0 if all
// tests passed, else EXIT_ANSWER_NO. The process must not have loaded the library before.
int burn_in(const char *path, uint64_t bytes);

#endif
