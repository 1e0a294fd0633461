// SPDX-License-Identifier: BSD-3-Clause
// Copies between the program's memory and the GPU.
#ifndef RGPU_CLIENT_COPIES_H
#define RGPU_CLIENT_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"
#include "proto/cuda_abi.h"

// Begins a copy call: finds the session of the current context, and resolves STREAM in it.
CUresult copy_begin(CUstream stream, struct box_session **session, CUstream *resolved);

// Copies of the driver's calls. With WAIT they return when the copy is done, as the calls without
// Async do; otherwise as the Async calls do.
CUresult copy_to_device(CUdeviceptr dst, const void *src, size_t size, CUstream stream, bool wait);
CUresult copy_from_device(void *dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
// The same, but the program's side may be managed memory, which belongs to a GPU.
CUresult copy_in(CUdeviceptr dst, const void *src, size_t size, CUstream stream, bool wait);
CUresult copy_out(void *dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
// Copies in the direction that follows from the addresses.
CUresult copy_unified(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
// Copies between devices of one box or of two.
CUresult copy_on_devices(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
CUresult copy_2d(const CUDA_MEMCPY2D *copy, CUstream stream, bool wait);
CUresult copy_3d(const CUDA_MEMCPY3D *copy, CUstream stream, bool wait);
// One side of a copy of consecutive bytes. An array's bytes lie in its first row.
struct array_line {
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t offset; // in the array
};
CUresult copy_array_line(CUmemorytype to_type, struct array_line to, CUmemorytype from_type,
                         struct array_line from, size_t size, CUstream stream, bool wait);
// Copies between devices. SERIAL: in order with all work of both contexts, as the calls without
// Async do.
CUresult copy_peer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
                   size_t size, CUstream stream, bool serial);
CUresult copy_peer_3d(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, bool serial);

// Fills HEIGHT rows, PITCH bytes apart, of WIDTH elements of ELEMENT bytes (1, 2 or 4) with VALUE,
// if they are memory of the program that the box does not map: waits for the stream and fills it
// here. False: the GPU has the memory, at *DST. While the stream is captured, it gets the memory.
bool fill_on_host(CUdeviceptr *dst, size_t pitch, uint32_t value, size_t element, size_t width,
                  size_t height, CUstream stream, CUresult *result);
// Copies within the memory of the program when STREAM, which copy_begin has resolved, reaches this
// point.
CUresult copy_host_to_host(struct box_session *session, CUdeviceptr dst, CUdeviceptr src,
                           size_t size, CUstream stream, bool wait);

// Copies of linear memory. STREAM was resolved by copy_begin, in the current context.
CUresult copy_host_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                             size_t size, CUstream stream, bool wait);
CUresult copy_device_to_host(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                             CUstream stream, bool wait);
// The same, but waits, and reports each part that has arrived: from several threads, in no order.
struct copy_progress {
    void (*arrived)(void *argument, const void *part, size_t size);
    void *argument;
};
CUresult copy_device_to_host_in_parts(struct box_session *session, void *dst, CUdeviceptr src,
                                      size_t size, CUstream stream,
                                      const struct copy_progress *progress);

// Finds the name by which the box knows SIZE bytes of host memory. False: it does not map them.
bool copy_shared_name(const struct box_session *session, const void *host, size_t size,
                      uint64_t *name);

// Copies through staging blocks (staged.c).
CUresult staged_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                          size_t size, CUstream stream);
CUresult staged_from_device(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                            CUstream stream, bool wait, const struct copy_progress *progress);
// Rows of WIDTH bytes (staged_rows.c), at most the size of a block, packed in the blocks: HEIGHT
// rows in a plane, DEPTH planes.
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
// Copies over the link's byte stream (streamed.c).
CUresult streamed_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                            size_t size, CUstream stream);
CUresult streamed_blocks(struct box_session *session, uint32_t job, const void *src, size_t size);
CUresult streamed_from_device(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                              CUstream stream, bool wait);

#endif
