// SPDX-License-Identifier: BSD-3-Clause
// Images are sent in pieces that fit records.
#include "client-lib/cuda/objects/image_send.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "client_calls.h"
#include "common/base/descriptor.h"
#include "common/driver/image.h"
#include "proto/wire.h"

CUresult image_send(const void *data, size_t size, uint32_t *image)
{
    static _Atomic uint32_t next;
    *image = atomic_fetch_add(&next, 1) + 1;
    CUresult result = remote_image_begin(*image, size);
    for (size_t offset = 0; result == CUDA_SUCCESS && offset < size; offset += WIRE_INLINE_MAX) {
        size_t piece = size - offset < WIRE_INLINE_MAX ? size - offset : WIRE_INLINE_MAX;
        result = remote_image_data(*image, offset, (const uint8_t *)data + offset, piece);
    }
    return result;
}

CUresult image_send_program(const void *pointer, uint32_t *image, size_t *size)
{
    struct image found;
    if (!pointer)
        return CUDA_ERROR_INVALID_VALUE;
    if (image_locate(pointer, &found) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    // The NUL of a text is sent, too, because the driver reads it.
    *size = found.size + (found.kind == IMAGE_PTX);
    return image_send(found.data, *size, image);
}

CUresult image_read_file(const char *path, void **data, size_t *size)
{
    struct stat status;
    if (!path)
        return CUDA_ERROR_INVALID_VALUE;
    FILE *file = descriptor_open_file(path, "r");
    if (!file)
        return CUDA_ERROR_FILE_NOT_FOUND;
    char *bytes = NULL;
    CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
    if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode)) {
        bytes = malloc((size_t)status.st_size + 1);
        result = bytes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result == CUDA_SUCCESS) {
        *size = fread(bytes, 1, (size_t)status.st_size, file);
        bytes[*size] = 0;
        *data = bytes;
    }
    fclose(file);
    return result;
}
