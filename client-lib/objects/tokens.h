// SPDX-License-Identifier: BSD-3-Clause
// Tokens, which stand for what processes of one box share, and the files that carry them where programs pass descriptors.
#ifndef RGPU_CLIENT_TOKENS_H
#define RGPU_CLIENT_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/control.h"
#include "proto/cuda_abi.h"

// Whether it looks like one; only its box knows.
bool token_is_one(const void *token);
// A new file that holds a token of SIZE bytes; *FD is the program's.
CUresult token_give_file(const uint8_t *token, size_t size, int *fd);
// UNKNOWN: no process has exported that, as the driver has it.
CUresult token_read_file(int fd, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);

#endif
