// Copies between the program's memory and the GPU.
#ifndef RGPU_CLIENT_COPY_H
#define RGPU_CLIENT_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/session.h"
#include "proto/cuda_abi.h"

// Prepares a new session for copies. 0, or -1 with *error.
int copy_start(struct session *session, struct session_error *error);

// What every copy call starts with: the session of the current context, and the stream that STREAM
// means in it.
CUresult copy_begin(CUstream stream, struct session **session, CUstream *resolved);

// Defines a copy call and its variant for per-thread default streams (SUFFIX _ptds or _ptsz) from the
// expression that does it; `used` in it is the stream.
#define COPY_CALLS(name, suffix, parameters, stream, does) \
    CUresult name parameters { CUstream used = (stream); return does; } \
    CUresult name##suffix parameters { CUstream used = stream_per_thread(stream); return does; }

// Copies of one stretch of memory. STREAM is one that call_stream has resolved, in the current
// context. WAIT: return when the copy is done, as the plain calls do; else as the Async ones.
CUresult copy_host_to_device(struct session *session, CUdeviceptr dst, const void *src, size_t size,
                             CUstream stream, bool wait);
CUresult copy_device_to_host(struct session *session, void *dst, CUdeviceptr src, size_t size,
                             CUstream stream, bool wait);

// Waits until the GPU has done what was asked of the stream so far.
CUresult copy_fence(struct session *session, CUstream stream);

// The name under which the box knows SIZE bytes of host memory; false: it does not map them.
bool copy_shared_name(const struct session *session, const void *host, size_t size, uint64_t *name);

// Through staging blocks that both sides map (copy_staged.c).
int staging_start(struct session *session);
CUresult staged_to_device(struct session *session, CUdeviceptr dst, const void *src, size_t size,
                          CUstream stream);
CUresult staged_from_device(struct session *session, void *dst, CUdeviceptr src, size_t size,
                            CUstream stream, bool wait);
// Rows of WIDTH bytes, at most WIRE_INLINE_MAX, packed in the blocks: HEIGHT to a plane, DEPTH planes.
struct staged_rows {
    bool to_device;
    CUdeviceptr device;
    uint8_t *host;
    size_t device_pitch, device_slice, host_pitch, host_slice;
    size_t width, height, depth;
};
CUresult staged_box(struct session *session, const struct staged_rows *rows, CUstream stream);
// Over the link's byte stream (copy_streamed.c).
CUresult streamed_to_device(struct session *session, CUdeviceptr dst, const void *src, size_t size,
                            CUstream stream);
CUresult streamed_blocks(struct session *session, uint32_t job, const void *src, size_t size);
CUresult streamed_from_device(struct session *session, void *dst, CUdeviceptr src, size_t size,
                              CUstream stream, bool wait);

#endif
