// SPDX-License-Identifier: BSD-3-Clause
// Runs a small kernel on each GPU that a program would see here, for `rgpuctl ping` and `doctor`.
#ifndef RGPU_ADMIN_CLI_TRY_KERNELS_H
#define RGPU_ADMIN_CLI_TRY_KERNELS_H

// Loads the client library at PATH into this process, runs the kernel on each GPU, compares its
// numbers, and prints a line for each GPU. Returns 0 if all of them were right, else
// EXIT_ANSWER_NO. The process must not have loaded the library before.
int try_kernels(const char *path);

#endif
