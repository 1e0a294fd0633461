// SPDX-License-Identifier: BSD-3-Clause
// The calls of the Driver API for arrays, textures and surfaces that test programs make.
#ifndef RGPU_TESTS_TEXTURE_CALLS_H
#define RGPU_TESTS_TEXTURE_CALLS_H

#include "tests/programs/driver_calls.h"

#ifndef WITH_CUDA_H
#define cuArrayCreate cuArrayCreate_v2
#define cuArray3DCreate cuArray3DCreate_v2
#endif

#endif
