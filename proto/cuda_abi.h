// SPDX-License-Identifier: BSD-3-Clause
// The types, values and layouts of the CUDA Driver ABI at the level of CUDA 13.0, declared for
// building without a CUDA toolkit. Names and values are those of the ABI. A C program may include
// this in place of cuda.h; the calls themselves are declared from proto/cuda.spec.
// tests/proto/abi-matches-cuda-h.t compares all of it with cuda.h where that is at hand.
#ifndef RGPU_PROTO_CUDA_ABI_H
#define RGPU_PROTO_CUDA_ABI_H
#define __cuda_cuda_h__ // cuda.h and this exclude each other

#include "abi/base.h"
#include "abi/result.h"
#include "abi/device_types.h"
#include "abi/context_types.h"
#include "abi/array_types.h"
#include "abi/memory_types.h"
#include "abi/copy_types.h"
#include "abi/stream_types.h"
#include "abi/module_types.h"
#include "abi/launch_types.h"
#include "abi/external_types.h"
#include "abi/graph_types.h"
#include "abi/tools_types.h"

#endif
