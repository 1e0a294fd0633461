// SPDX-License-Identifier: BSD-3-Clause
// Tokens, which identify objects that processes of one box share, and the files that carry them if
// programs pass descriptors.
#ifndef RGPU_CLIENT_TOKENS_H
#define RGPU_CLIENT_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/net/control.h"
#include "proto/cuda_abi.h"

// Returns true if TOKEN has the format of a token. Only its box knows if it is valid.
bool token_is_one(const void *token);
// Makes a file that holds a token of SIZE bytes. The program owns *FD.
CUresult token_give_file(const uint8_t *token, size_t size, int *fd);
// Returns CUDA_ERROR_UNKNOWN if no process has exported the file, as the driver does.
CUresult token_read_file(int fd, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);

#endif
