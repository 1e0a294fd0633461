// SPDX-License-Identifier: BSD-3-Clause
// Functions of the program in streams, including streams under capture.
#ifndef RGPU_CLIENT_STREAM_FUNCTION_H
#define RGPU_CLIENT_STREAM_FUNCTION_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

// Like host_function_launch.
CUresult stream_function(CUstream stream, bool per_thread, CUhostFn function,
                         CUstreamCallback callback, void *data);

#endif
