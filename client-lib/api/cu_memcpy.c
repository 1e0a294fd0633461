// SPDX-License-Identifier: BSD-3-Clause
// Memory management: copies, and filling memory.
#include "client-lib/api/exports.h"
#include "client-lib/move/copies.h"
#include "client-lib/objects/stream_names.h"
#include "client_calls.h"

// Defines a copy call and its variant for per-thread default streams (SUFFIX _ptds or _ptsz) from the
// expression that does it; `used` in it is the stream.
#define COPY_CALLS(name, suffix, parameters, stream, does) \
    CUresult name parameters \
    { \
        CUstream used = (stream); \
        return does; \
    } \
    CUresult name##suffix parameters \
    { \
        CUstream used = stream_per_thread(stream); \
        return does; \
    }

COPY_CALLS(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount),
           NULL, copy_to_device(dstDevice, srcHost, ByteCount, used, true))
COPY_CALLS(cuMemcpyHtoDAsync_v2, _ptsz,
           (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream),
           hStream, copy_to_device(dstDevice, srcHost, ByteCount, used, false))
COPY_CALLS(cuMemcpyDtoH_v2, _ptds, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount), NULL,
           copy_from_device(dstHost, srcDevice, ByteCount, used, true))
COPY_CALLS(cuMemcpyDtoHAsync_v2, _ptsz,
           (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), hStream,
           copy_from_device(dstHost, srcDevice, ByteCount, used, false))
COPY_CALLS(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
           NULL, remote_cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, used))
COPY_CALLS(cuMemsetD8_v2, _ptds, (CUdeviceptr dstDevice, unsigned char uc, size_t N), NULL,
           remote_cuMemsetD8Async(dstDevice, uc, N, used))
COPY_CALLS(cuMemsetD16_v2, _ptds, (CUdeviceptr dstDevice, unsigned short us, size_t N), NULL,
           remote_cuMemsetD16Async(dstDevice, us, N, used))
COPY_CALLS(cuMemsetD32_v2, _ptds, (CUdeviceptr dstDevice, unsigned int ui, size_t N), NULL,
           remote_cuMemsetD32Async(dstDevice, ui, N, used))
COPY_CALLS(cuMemsetD2D8_v2, _ptds,
           (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height),
           NULL, remote_cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, used))
COPY_CALLS(cuMemsetD2D16_v2, _ptds,
           (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height),
           NULL, remote_cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, used))
COPY_CALLS(cuMemsetD2D32_v2, _ptds,
           (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height),
           NULL, remote_cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, used))
COPY_CALLS(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), NULL,
           copy_unified(dst, src, ByteCount, used, true))
COPY_CALLS(cuMemcpyAsync, _ptsz,
           (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), hStream,
           copy_unified(dst, src, ByteCount, used, false))

// ---- rectangles ----

COPY_CALLS(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *pCopy), NULL, copy_2d(pCopy, used, true))
COPY_CALLS(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *pCopy), NULL,
           copy_2d(pCopy, used, true))
COPY_CALLS(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *pCopy, CUstream hStream), hStream,
           copy_2d(pCopy, used, false))
COPY_CALLS(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *pCopy), NULL, copy_3d(pCopy, used, true))
COPY_CALLS(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *pCopy, CUstream hStream), hStream,
           copy_3d(pCopy, used, false))
COPY_CALLS(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *pCopy), NULL,
           copy_peer_3d(pCopy, used, true))
COPY_CALLS(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream), hStream,
           copy_peer_3d(pCopy, used, false))
COPY_CALLS(cuMemcpyPeer, _ptds,
           (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
            CUcontext srcContext, size_t ByteCount),
           NULL, copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, used, true))
COPY_CALLS(cuMemcpyPeerAsync, _ptsz,
           (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
            CUcontext srcContext, size_t ByteCount, CUstream hStream),
           hStream, copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, used, false))

static CUresult copy_batch(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                           size_t *failed, CUstream stream)
{
    if (!dsts || !srcs || !sizes || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult result = copy_unified(dsts[i], srcs[i], sizes[i], stream, false);
        if (result != CUDA_SUCCESS) {
            if (failed)
                *failed = i;
            return result;
        }
    }
    return CUDA_SUCCESS;
}

COPY_CALLS(cuMemcpyBatchAsync_v2, _ptsz,
           (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
            CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, CUstream hStream),
           hStream, copy_batch(dsts, srcs, sizes, count, NULL, used))
COPY_CALLS(cuMemcpyBatchAsync, _ptsz,
           (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
            CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
            CUstream hStream),
           hStream, copy_batch(dsts, srcs, sizes, count, failIdx, used))
