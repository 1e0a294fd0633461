// SPDX-License-Identifier: BSD-3-Clause
// The table rgpu_kernel_table of rgpu's libcuda.so.1, for librgpu: windows into which kernels of
// other boxes put (client-lib/putnotify/rgpu.h). NVIDIA's libcuda.so.1 has no such table.
#ifndef RGPU_PROTO_KERNEL_TABLE_H
#define RGPU_PROTO_KERNEL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

struct kernel_table {
    // Opens a member's window: SIZE bytes at BASE in CONTEXT, for kernels of BLOCKS blocks and for
    // TAGS signals. *WINDOW identifies it in this process. *PROXY_QUEUE is the address at which its
    // kernels find struct wire_proxy_queue, valid until `close`. NOT_SUPPORTED: the box runs an
    // older release.
    CUresult (*open)(CUcontext context, CUdeviceptr base, size_t size, uint32_t blocks,
                     uint32_t tags, uint32_t *window, CUdeviceptr *proxy_queue);
    // Connects WINDOW with the window THERE of the context OTHER, which is of another box. Puts to
    // the member MEMBER by kernels of WINDOW go there.
    CUresult (*reach)(CUcontext context, uint32_t window, uint32_t member, CUcontext other,
                      uint32_t there);
    // Returns CUDA_ERROR_NOT_READY while kernels run in CONTEXT. If LOSE, first notifies these
    // kernels that the team is lost, so that their waits end.
    CUresult (*ask)(CUcontext context, uint32_t window, bool lose);
    // Waits for the kernels of CONTEXT, and frees the window.
    void (*close)(CUcontext context, uint32_t window);
};

#endif
