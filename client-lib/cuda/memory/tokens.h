// SPDX-License-Identifier: BSD-3-Clause
// Tokens of a box: byte strings that identify objects which processes share on that box. If
// programs pass file descriptors to each other, a file in memory holds the token.
#ifndef RGPU_CLIENT_TOKENS_H
#define RGPU_CLIENT_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/net/control.h"
#include "proto/cuda_abi.h"

// Returns true if TOKEN, of CONTROL_EXPORT_TOKEN_BYTES, has the format of a token. Only its box
// knows if the token is valid.
bool token_is_one(const void *token);
// Creates a file that holds a token of SIZE bytes. The program owns *FD and closes it.
CUresult token_give_file(const uint8_t *token, size_t size, int *fd);
// Reads the token from the file FD, which stays open. Returns CUDA_ERROR_UNKNOWN if the file does
// not come from token_give_file, as the driver does for foreign files.
CUresult token_read_file(int fd, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);

#endif
