// The library's state in this process: not initialised, ready, failed, or inherited by a fork.
#ifndef RGPU_CLIENT_PROCESS_H
#define RGPU_CLIENT_PROCESS_H

#include "proto/cuda_abi.h"

// CUDA_SUCCESS once cuInit has succeeded, else what a driver call is to return.
CUresult process_ready(void);

#endif
