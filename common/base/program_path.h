// SPDX-License-Identifier: BSD-3-Clause
// Finds files relative to the running program, in a build tree as well as in any installation.
#ifndef RGPU_COMMON_PROGRAM_PATH_H
#define RGPU_COMMON_PROGRAM_PATH_H

#include <stddef.h>

// Writes the absolute path of the first readable candidate to PATH. CANDIDATES are relative to the
// program's directory ("../lib/libcuda.so.1") and end with NULL. Returns 0, or -ENOENT with the
// path of the last candidate in PATH.
int program_path_find(const char *const *candidates, char *path, size_t size);

#endif
