// SPDX-License-Identifier: BSD-3-Clause
// The driver calls that this library exports (api_calls.h is generated).
#ifndef RGPU_CLIENT_EXPORTS_H
#define RGPU_CLIENT_EXPORTS_H

#define RGPU_EXPORT __attribute__((visibility("default")))

#include "proto/cuda_abi.h"

#include "api_calls.h"

#endif
