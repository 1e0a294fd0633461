// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec: fails to compile where a prototype differs from cuda.h's. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#define SAME(symbol, ...) _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), CUresult(__VA_ARGS__)), #symbol)
% for c in (call for call in cuda if 'interop' not in call.flags):
SAME(${c.symbol}, ${c.prototype});
% end
