// SPDX-License-Identifier: BSD-3-Clause
// The last errors, for programs that query them (cuLogs...): messages numbered from 0, and the
// program's callbacks for new ones. Any thread may call.
#ifndef RGPU_CLIENT_ERROR_LOG_H
#define RGPU_CLIENT_ERROR_LOG_H

#include <stddef.h>
#include <stdio.h>

#include "proto/cuda_abi.h"

// Notes that the call OP (enum cuda_op) returned RESULT. Returns RESULT.
CUresult error_log_failed(unsigned int op, CUresult result);
static inline CUresult error_log_note(unsigned int op, CUresult result)
{
    return __builtin_expect(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY, 1)
               ? result
               : error_log_failed(op, result);
}

// Returns the number of the next message.
CUlogIterator error_log_next(void);
// As cuLogsDumpToMemory and cuLogsDumpToFile. *FROM is moved on; NULL means the first message.
CUresult error_log_read(CUlogIterator *from, char *buffer, size_t *size);
CUresult error_log_print(CUlogIterator *from, FILE *out);

// NULL: there are too many.
CUlogsCallbackHandle error_log_listen(CUlogsCallback callback, void *data);
CUresult error_log_unlisten(CUlogsCallbackHandle handle);

#endif
