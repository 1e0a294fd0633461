// SPDX-License-Identifier: BSD-3-Clause
// Files that belong to a program, found from where the program itself lies, so that a build tree
// and an installation anywhere work without settings.
#ifndef RGPU_COMMON_PROGRAM_PATH_H
#define RGPU_COMMON_PROGRAM_PATH_H

#include <stddef.h>

// The first of the NULL-terminated candidates ("../lib/libcuda.so.1") that can be read, as an
// absolute path. -ENOENT where none is there; PATH then names the last one.
int program_path_find(const char *const *candidates, char *path, size_t size);

#endif
