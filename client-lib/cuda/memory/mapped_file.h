// SPDX-License-Identifier: BSD-3-Clause
// Finds the file of a shared mapping that the program has made.
#ifndef RGPU_CLIENT_MAPPED_FILE_H
#define RGPU_CLIENT_MAPPED_FILE_H

#include <stddef.h>
#include <stdint.h>

// Opens the file of which [ADDRESS, ADDRESS + SIZE) is a shared and writable mapping. *OFFSET is
// the file offset of ADDRESS in bytes. Returns a file descriptor, which the caller closes; -ENXIO
// if the range is another kind of memory; another -errno if the file cannot be opened.
int mapped_file_open(uint64_t address, size_t size, uint64_t *offset)
    __attribute__((warn_unused_result));

#endif
