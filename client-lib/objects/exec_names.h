// SPDX-License-Identifier: BSD-3-Clause
// Executable graphs that kernels launch have a second name, which the GPU knows: the program gets that one, since it
// hands it to its kernels. Any thread may call.
#ifndef RGPU_CLIENT_EXEC_NAMES_H
#define RGPU_CLIENT_EXEC_NAMES_H

#include <stdbool.h>
#include <stdint.h>

// False: there is no memory.
bool exec_name(uint64_t handle, uint64_t name);
// The handle behind a name; 0: it is none.
uint64_t exec_named(uint64_t name);
void exec_unname(uint64_t handle);

#endif
