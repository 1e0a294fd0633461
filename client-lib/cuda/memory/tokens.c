// SPDX-License-Identifier: BSD-3-Clause
// See tokens.h.
#include "client-lib/cuda/memory/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/descriptor.h"

bool token_is_one(const void *token)
{
    return !memcmp(token, CONTROL_EXPORT_MAGIC, CONTROL_EXPORT_SECRET_AT);
}

static int token_file(const uint8_t *token)
{
    int fd = descriptor_own(memfd_create("rgpu-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd < 0)
        return -errno;
    if (write(fd, token, CONTROL_EXPORT_TOKEN_BYTES) != CONTROL_EXPORT_TOKEN_BYTES ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)) {
        close(fd);
        return -EIO;
    }
    return fd;
}

CUresult token_give_file(const uint8_t *token, size_t size, int *fd)
{
    int made = size == CONTROL_EXPORT_TOKEN_BYTES ? token_file(token) : -EPROTO;
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
