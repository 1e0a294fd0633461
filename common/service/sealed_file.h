// SPDX-License-Identifier: BSD-3-Clause
// Small files in memory that no process can change.
#ifndef RGPU_COMMON_SEALED_FILE_H
#define RGPU_COMMON_SEALED_FILE_H

#include <stddef.h>

// Returns a file with these bytes, or -errno.
int sealed_file_make(const char *name, const void *bytes, size_t size)
    __attribute__((warn_unused_result));
// Reads a file of at most ROOM bytes. Returns their number, -EPERM if the file is not sealed, or
// another -errno.
int sealed_file_read(int fd, void *bytes, size_t room) __attribute__((warn_unused_result));

#endif
