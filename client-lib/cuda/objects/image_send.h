// SPDX-License-Identifier: BSD-3-Clause
// Sends images of device code to the box of the current context.
#ifndef RGPU_CLIENT_IMAGE_SEND_H
#define RGPU_CLIENT_IMAGE_SEND_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

// Sends an image of SIZE bytes. *IMAGE is its number for the requests that load or free it.
CUresult image_send(const void *data, size_t size, uint32_t *image);
// The same for an image that the program passed as a pointer without a size; *SIZE becomes its
// size.
CUresult image_send_program(const void *pointer, uint32_t *image, size_t *size);
// Reads a whole file and adds a NUL after it; the caller frees *DATA. Returns
// CUDA_ERROR_FILE_NOT_FOUND if there is no such file.
CUresult image_read_file(const char *path, void **data, size_t *size);

#endif
