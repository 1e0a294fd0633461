// SPDX-License-Identifier: BSD-3-Clause
// The driver's interface as this library exports it.
#ifndef RGPU_CLIENT_EXPORTS_H
#define RGPU_CLIENT_EXPORTS_H

#define RGPU_EXPORT __attribute__((visibility("default")))

#include "proto/cuda_abi.h"

#include "api_calls.h"

#endif
