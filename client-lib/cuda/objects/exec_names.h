// SPDX-License-Identifier: BSD-3-Clause
// Second names of executable graphs that kernels launch. The name is the handle that the GPU knows.
// Therefore the program gets this name instead of the library's handle, and passes it to its
// kernels. Any thread may call.
#ifndef RGPU_CLIENT_EXEC_NAMES_H
#define RGPU_CLIENT_EXEC_NAMES_H

#include <stdbool.h>
#include <stdint.h>

// Gives HANDLE the second name NAME. Returns false if memory has run out.
bool exec_name(uint64_t handle, uint64_t name);
// Returns the handle whose second name is NAME; 0 if there is none.
uint64_t exec_named(uint64_t name);
// Removes the second name of HANDLE, if it has one.
void exec_unname(uint64_t handle);

#endif
