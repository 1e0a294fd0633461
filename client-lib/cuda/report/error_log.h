// SPDX-License-Identifier: BSD-3-Clause
// The log of the last errors, for programs that query them (cuLogs...): messages, numbered from 0,
// and the program's callbacks for new messages. Any thread may call.
#ifndef RGPU_CLIENT_ERROR_LOG_H
#define RGPU_CLIENT_ERROR_LOG_H

#include <stddef.h>
#include <stdio.h>

#include "proto/cuda_abi.h"

// Logs that the call OP (enum cuda_op) failed with RESULT. Returns RESULT.
CUresult error_log_failed(unsigned int op, CUresult result);
// The same if RESULT is an error. Returns RESULT.
static inline CUresult error_log_note(unsigned int op, CUresult result)
{
    return __builtin_expect(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY, 1)
               ? result
               : error_log_failed(op, result);
}

// Returns the number that the next message will get.
CUlogIterator error_log_next(void);
// Write the messages from *FROM on, as cuLogsDumpToMemory and cuLogsDumpToFile do, and set *FROM to
// the number of the next message. If not all fit into BUFFER, error_log_read writes the latest
// ones. FROM may be NULL: from the first message on.
CUresult error_log_read(CUlogIterator *from, char *buffer, size_t *size);
CUresult error_log_print(CUlogIterator *from, FILE *out);

// Registers a callback of the program for new messages. Returns NULL if there are too many
// callbacks.
CUlogsCallbackHandle error_log_listen(CUlogsCallback callback, void *data);
// Removes a callback.
CUresult error_log_unlisten(CUlogsCallbackHandle handle);

#endif
