// SPDX-License-Identifier: BSD-3-Clause
// Functions of libcuda.so.1 for librgpu, which looks up rgpu_kernel_table in it by name: windows
// into which kernels of other boxes put. NVIDIA's library has no such table.
#ifndef RGPU_PROTO_KERNEL_TABLE_H
#define RGPU_PROTO_KERNEL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

struct kernel_table {
    // A window of CONTEXT for kernels of so many blocks. *WINDOW names it in this process, and
    // *PROXY_QUEUE is where its kernels find struct wire_proxy_queue. NOT_SUPPORTED: the box is of
    // an earlier release.
    CUresult (*open)(CUcontext context, CUdeviceptr base, size_t size, uint32_t blocks,
                     uint32_t tags, uint32_t *window, CUdeviceptr *proxy_queue);
    // Kernels at WINDOW put into the window THERE of OTHER, which is of another box, as that of
    // MEMBER.
    CUresult (*reach)(CUcontext context, uint32_t window, uint32_t member, CUcontext other,
                      uint32_t there);
    // Returns CUDA_ERROR_NOT_READY while kernels run in its context. LOSE: notifies them that their
    // waits will not end.
    CUresult (*ask)(CUcontext context, uint32_t window, bool lose);
    // Frees it; waits for kernels.
    void (*close)(CUcontext context, uint32_t window);
};

#endif
