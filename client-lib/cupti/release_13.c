// SPDX-License-Identifier: BSD-3-Clause
// libcupti.so.13
#include <stdint.h>

extern const uint32_t cupti_release;
const uint32_t cupti_release = 130000; // CUDA 13.0
