// SPDX-License-Identifier: BSD-3-Clause
// Second names of executable graphs that kernels launch. The GPU knows this name, so the program
// gets it as the handle and passes it to its kernels. Any thread may call.
#ifndef RGPU_CLIENT_EXEC_NAMES_H
#define RGPU_CLIENT_EXEC_NAMES_H

#include <stdbool.h>
#include <stdint.h>

// Returns false if there is no memory.
bool exec_name(uint64_t handle, uint64_t name);
// Returns the handle that has this name; 0: there is none.
uint64_t exec_named(uint64_t name);
void exec_unname(uint64_t handle);

#endif
