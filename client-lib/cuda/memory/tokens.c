// SPDX-License-Identifier: BSD-3-Clause
// See tokens.h.
#include "client-lib/cuda/memory/tokens.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/service/sealed_file.h"

bool token_is_one(const void *token)
{
    return !memcmp(token, CONTROL_EXPORT_MAGIC, CONTROL_EXPORT_SECRET_AT);
}

CUresult token_give_file(const uint8_t *token, size_t size, int *fd)
{
    int made = size == CONTROL_EXPORT_TOKEN_BYTES ? sealed_file_make("rgpu-memory", token, size)
                                                  : -EPROTO;
    if (made < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *fd = made;
    return CUDA_SUCCESS;
}

CUresult token_read_file(int fd, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES])
{
    ssize_t got = pread(fd, token, CONTROL_EXPORT_TOKEN_BYTES, 0);
    return got == CONTROL_EXPORT_TOKEN_BYTES && token_is_one(token) ? CUDA_SUCCESS
                                                                    : CUDA_ERROR_UNKNOWN;
}
