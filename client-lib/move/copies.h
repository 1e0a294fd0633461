// SPDX-License-Identifier: BSD-3-Clause
// Copies between the program's memory and the GPU.
#ifndef RGPU_CLIENT_COPIES_H
#define RGPU_CLIENT_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/session/box_session.h"
#include "proto/cuda_abi.h"

// What every copy call starts with: the session of the current context, and the stream that STREAM
// means in it.
CUresult copy_begin(CUstream stream, struct box_session **session, CUstream *resolved);

// The copies of the driver's calls. WAIT: return when the copy is done, as the plain calls do; else as the
// Async ones.
CUresult copy_to_device(CUdeviceptr dst, const void *src, size_t size, CUstream stream, bool wait);
CUresult copy_from_device(void *dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
// The same where the program's side may be managed memory, which is a GPU's.
CUresult copy_in(CUdeviceptr dst, const void *src, size_t size, CUstream stream, bool wait);
CUresult copy_out(void *dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
// One whose direction follows from the addresses.
CUresult copy_unified(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
// One between devices, be they of one box or of two.
CUresult copy_on_devices(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
CUresult copy_2d(const CUDA_MEMCPY2D *copy, CUstream stream, bool wait);
CUresult copy_3d(const CUDA_MEMCPY3D *copy, CUstream stream, bool wait);
// A run of bytes with an array on one side or both, where it lies in the first row.
struct array_line {
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t offset; // in the array
};
CUresult copy_array_line(CUmemorytype to_type, struct array_line to, CUmemorytype from_type,
                         struct array_line from, size_t size, CUstream stream, bool wait);
// Between devices. SERIAL: with all work of both contexts, as the calls without Async are.
CUresult copy_peer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
                   size_t size, CUstream stream, bool serial);
CUresult copy_peer_3d(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, bool serial);

// Fills HEIGHT rows, PITCH bytes apart, of WIDTH elements of ELEMENT bytes (1, 2 or 4) with VALUE, where that is
// memory of the program that the box does not map: waits for the stream and does it here. False: it is not.
bool fill_on_host(CUdeviceptr dst, size_t pitch, uint32_t value, size_t element, size_t width,
                  size_t height, CUstream stream, CUresult *result);
// A copy within the memory of the program, once STREAM, which copy_begin has resolved, has come to it.
CUresult copy_host_to_host(struct box_session *session, CUdeviceptr dst, CUdeviceptr src,
                           size_t size, CUstream stream, bool wait);

// Copies of one stretch of memory. STREAM is one that copy_begin has resolved, in the current context.
CUresult copy_host_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                             size_t size, CUstream stream, bool wait);
CUresult copy_device_to_host(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                             CUstream stream, bool wait);
// The same, waited for, with word of each part that has come, from several threads and in no order.
struct copy_progress {
    void (*arrived)(void *argument, const void *part, size_t size);
    void *argument;
};
CUresult copy_device_to_host_in_parts(struct box_session *session, void *dst, CUdeviceptr src,
                                      size_t size, CUstream stream,
                                      const struct copy_progress *progress);

// The name under which the box knows SIZE bytes of host memory; false: it does not map them.
bool copy_shared_name(const struct box_session *session, const void *host, size_t size,
                      uint64_t *name);

// Through staging blocks (staged.c).
CUresult staged_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                          size_t size, CUstream stream);
CUresult staged_from_device(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                            CUstream stream, bool wait, const struct copy_progress *progress);
// Rows of WIDTH bytes (staged_rows.c), at most those of a block, packed in the blocks: HEIGHT to a plane, DEPTH planes.
struct staged_rows {
    bool to_device;
    CUdeviceptr device;
    uint8_t *host;
    size_t device_pitch, device_slice, host_pitch, host_slice;
    size_t width, height, depth;
    CUarray array; // instead of device memory, from x, y and z on
    size_t x, y, z;
};
CUresult staged_rect(struct box_session *session, const struct staged_rows *rows, CUstream stream);
// Over the link's byte stream (streamed.c).
CUresult streamed_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                            size_t size, CUstream stream);
CUresult streamed_blocks(struct box_session *session, uint32_t job, const void *src, size_t size);
CUresult streamed_from_device(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                              CUstream stream, bool wait);

#endif
