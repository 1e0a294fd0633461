// SPDX-License-Identifier: BSD-3-Clause
// Copies between the program's memory and the GPU. Sizes are in bytes. Any thread may call.
#ifndef RGPU_CLIENT_COPIES_H
#define RGPU_CLIENT_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"
#include "proto/cuda_abi.h"

// Begins a copy call: finds the session of the current context, and resolves STREAM, the program's
// name for a stream, to *RESOLVED, the stream that requests name.
CUresult copy_begin(CUstream stream, struct box_session **session, CUstream *resolved);

// Copies of the driver's calls. With WAIT they return when the copy is done, as the calls without
// Async do; otherwise as the Async calls do.
CUresult copy_to_device(CUdeviceptr dst, const void *src, size_t size, CUstream stream, bool wait);
CUresult copy_from_device(void *dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
// The same, but SRC of copy_in, or DST of copy_out, may also be managed memory, which belongs to a
// GPU.
CUresult copy_in(CUdeviceptr dst, const void *src, size_t size, CUstream stream, bool wait);
CUresult copy_out(void *dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
// Copies in the direction that follows from the addresses.
CUresult copy_unified(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
// Copies between devices of one box or of two.
CUresult copy_on_devices(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream, bool wait);
CUresult copy_2d(const CUDA_MEMCPY2D *copy, CUstream stream, bool wait);
CUresult copy_3d(const CUDA_MEMCPY3D *copy, CUstream stream, bool wait);
// One side of a copy of consecutive bytes: host or device memory, or the first row of an array.
struct array_line {
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t offset; // of the first byte in the array, in bytes
};
CUresult copy_array_line(CUmemorytype to_type, struct array_line to, CUmemorytype from_type,
                         struct array_line from, size_t size, CUstream stream, bool wait);
// Copy between devices. SERIAL: after all earlier work of both contexts and before all later work,
// as the calls without Async do.
CUresult copy_peer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
                   size_t size, CUstream stream, bool serial);
CUresult copy_peer_3d(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, bool serial);

// Sets *SIZE to the bytes from the first to the last of HEIGHT rows, at least one, of WIDTH
// elements of ELEMENT bytes. Returns false if the rows overlap or the size overflows.
bool fill_span(size_t pitch, size_t element, size_t width, size_t height, size_t *size);
// Fills HEIGHT rows, PITCH bytes apart, of WIDTH elements of ELEMENT bytes (1, 2 or 4) with VALUE,
// if they are host memory that the box does not map: waits for the stream, fills the memory in this
// process, sets *RESULT and returns true. Returns false if the GPU must fill the memory at *DST. If
// the stream is captured, first gives the GPU access to the memory and updates *DST. Rows that
// overlap or are not aligned are an error in any memory.
bool fill_on_host(CUdeviceptr *dst, size_t pitch, uint32_t value, size_t element, size_t width,
                  size_t height, CUstream stream, CUresult *result);
// Copies within the program's memory after all earlier work of STREAM, which copy_begin has
// resolved.
CUresult copy_host_to_host(struct box_session *session, CUdeviceptr dst, CUdeviceptr src,
                           size_t size, CUstream stream, bool wait);

// Copy linear memory between this process and the GPU. STREAM was resolved by copy_begin in the
// current context. With WAIT, return when the copy is done.
CUresult copy_host_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                             size_t size, CUstream stream, bool wait);
CUresult copy_device_to_host(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                             CUstream stream, bool wait);
// The receiver of the parts of a copy. `arrived` is called after SIZE bytes at PART have arrived,
// by several threads at a time and in any order.
struct copy_progress {
    void (*arrived)(void *argument, const void *part, size_t size);
    void *argument;
};
// Like copy_device_to_host with WAIT, but also reports each part to PROGRESS.
CUresult copy_device_to_host_in_parts(struct box_session *session, void *dst, CUdeviceptr src,
                                      size_t size, CUstream stream,
                                      const struct copy_progress *progress);

// Finds the value that names SIZE bytes of host memory in requests to the box. Returns false if the
// box does not map them.
bool copy_shared_name(const struct box_session *session, const void *host, size_t size,
                      uint64_t *name);

// Copy through staging blocks (staged.c). PROGRESS as above, or NULL.
CUresult staged_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                          size_t size, CUstream stream);
CUresult staged_from_device(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                            CUstream stream, bool wait, const struct copy_progress *progress);
// A copy of rows that are packed in staging blocks (staged_rows.c): DEPTH planes of HEIGHT rows of
// WIDTH bytes. A row has at most the size of a block. Pitches (from row to row) and slices (from
// plane to plane) are in bytes.
struct staged_rows {
    bool to_device;
    CUdeviceptr device; // of the first byte, if `array` is NULL
    uint8_t *host;      // of the first byte
    size_t device_pitch, device_slice, host_pitch, host_slice;
    size_t width, height, depth;
    CUarray array;  // NULL: linear device memory
    size_t x, y, z; // start in the array: bytes, rows, planes
};
// Copies ROWS in the order of STREAM.
CUresult staged_rect(struct box_session *session, const struct staged_rows *rows, CUstream stream);
// Copy over the link's byte stream (streamed.c).
CUresult streamed_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                            size_t size, CUstream stream);
// Sends the SIZE bytes at SRC as blocks of the push JOB, and waits for credits. On return SRC may
// change.
CUresult streamed_blocks(struct box_session *session, uint32_t job, const void *src, size_t size);
CUresult streamed_from_device(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                              CUstream stream, bool wait);

#endif
