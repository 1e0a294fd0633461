// SPDX-License-Identifier: BSD-3-Clause
// Declares the part of NVIDIA's cuda.h that the examples use, for builds without the CUDA toolkit.
#include "proto/cuda_abi.h"
#include "tests/programs/driver_calls.h"
