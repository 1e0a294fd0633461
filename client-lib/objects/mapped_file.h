// SPDX-License-Identifier: BSD-3-Clause
// The file behind memory that the program has mapped to share it.
#ifndef RGPU_CLIENT_MAPPED_FILE_H
#define RGPU_CLIENT_MAPPED_FILE_H

#include <stddef.h>
#include <stdint.h>

// A descriptor of the file of which [ADDRESS, ADDRESS + SIZE) is a shared and writable mapping, the caller's, and the
// place of ADDRESS in it. -ENXIO: it is another kind of memory; another -errno: the file cannot be had.
int mapped_file_open(uint64_t address, size_t size, uint64_t *offset)
    __attribute__((warn_unused_result));

#endif
