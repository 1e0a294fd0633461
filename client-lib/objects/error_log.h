// SPDX-License-Identifier: BSD-3-Clause
// What failed of late, for programs that ask (cuLogs...): the last messages, numbered from 0, and the program's
// functions that hear of each. Any thread may call.
#ifndef RGPU_CLIENT_ERROR_LOG_H
#define RGPU_CLIENT_ERROR_LOG_H

#include <stddef.h>
#include <stdio.h>

#include "proto/cuda_abi.h"

// Notes that the call OP (enum cuda_op) gave RESULT, which is returned.
CUresult error_log_failed(unsigned int op, CUresult result);
static inline CUresult error_log_note(unsigned int op, CUresult result)
{
    return __builtin_expect(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY, 1)
               ? result
               : error_log_failed(op, result);
}

// The number of the next message.
CUlogIterator error_log_next(void);
// As cuLogsDumpToMemory and cuLogsDumpToFile; *FROM is moved on, and NULL is the first message there is.
CUresult error_log_read(CUlogIterator *from, char *buffer, size_t *size);
CUresult error_log_print(CUlogIterator *from, FILE *out);

// NULL: too many are there.
CUlogsCallbackHandle error_log_listen(CUlogsCallback callback, void *data);
CUresult error_log_unlisten(CUlogsCallbackHandle handle);

#endif
