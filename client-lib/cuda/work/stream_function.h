// SPDX-License-Identifier: BSD-3-Clause
// Adds calls of the program's functions to streams, including streams under capture.
#ifndef RGPU_CLIENT_STREAM_FUNCTION_H
#define RGPU_CLIENT_STREAM_FUNCTION_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

// Does what host_function_launch (host_function.h) does. If STREAM is under capture, adds the call
// to the captured graph.
CUresult stream_function(CUstream stream, bool per_thread, CUhostFn function,
                         CUstreamCallback callback, void *data);

#endif
