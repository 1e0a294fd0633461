// SPDX-License-Identifier: BSD-3-Clause
// libcupti.so.12
#include <stdint.h>

extern const uint32_t cupti_release;
const uint32_t cupti_release = 18; // CUDA 12.0
