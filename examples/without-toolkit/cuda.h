// SPDX-License-Identifier: BSD-3-Clause
// What the examples need of NVIDIA's cuda.h, so that they are built where that is not installed.
#include "proto/cuda_abi.h"
#include "tests/programs/driver_calls.h"
