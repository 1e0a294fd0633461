// SPDX-License-Identifier: BSD-3-Clause
// What libcuda.so.1 has for librgpu, which finds rgpu_kernel_table by name in it: windows into which kernels of other boxes put.
// NVIDIA's library has none.
#ifndef RGPU_PROTO_KERNEL_TABLE_H
#define RGPU_PROTO_KERNEL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

struct kernel_table {
    // A window of CONTEXT for kernels of so many blocks. *WINDOW names it in this process; *MAILBOX is where its kernels find
    // struct wire_mailbox. NOT_SUPPORTED: the box is of an earlier release.
    CUresult (*open)(CUcontext context, CUdeviceptr base, size_t size, uint32_t blocks,
                     uint32_t tags, uint32_t *window, CUdeviceptr *mailbox);
    // Kernels at WINDOW put into the window THERE of OTHER, which is of another box, as that of MEMBER.
    CUresult (*reach)(CUcontext context, uint32_t window, uint32_t member, CUcontext other,
                      uint32_t there);
    // CUDA_ERROR_NOT_READY while kernels run in its context. LOSE: they are told that they wait in vain.
    CUresult (*ask)(CUcontext context, uint32_t window, bool lose);
    // Frees it; waits for kernels.
    void (*close)(CUcontext context, uint32_t window);
};

#endif
