// SPDX-License-Identifier: BSD-3-Clause
// The ABI of NCCL for which programs are compiled, from NVIDIA's documentation of the API: types,
// numbers and calls.
#ifndef RGPU_PROTO_NCCL_ABI_H
#define RGPU_PROTO_NCCL_ABI_H

#include <stddef.h>

// As in cuda.h and cuda_runtime.h.
typedef struct CUstream_st *cudaStream_t;

enum {
    NCCL_UNIQUE_ID_BYTES = 128,
    NCCL_SPLIT_NOCOLOR = -1,
    NCCL_VERSION_HERE = 22809, // release of NCCL (2.28.9) whose calls rgpu's libnccl has
};

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
    ncclSuccess,
    ncclUnhandledCudaError,
    ncclSystemError,
    ncclInternalError,
    ncclInvalidArgument,
    ncclInvalidUsage,
    ncclRemoteError,
    ncclInProgress,
    ncclNumResults,
} ncclResult_t;

typedef enum {
    ncclInt8,
    ncclUint8,
    ncclInt32,
    ncclUint32,
    ncclInt64,
    ncclUint64,
    ncclFloat16,
    ncclFloat32,
    ncclFloat64,
    ncclBfloat16,
    ncclFloat8e4m3,
    ncclFloat8e5m2,
    ncclNumTypes,
} ncclDataType_t;

typedef enum {
    ncclSum,
    ncclProd,
    ncclMax,
    ncclMin,
    ncclAvg,
    ncclNumOps,                // operations of ncclRedOpCreatePreMulSum have values from here on
    ncclMaxRedOp = 0x7fffffff, // makes the enum as large as an int
} ncclRedOp_t;

typedef enum { ncclScalarDevice, ncclScalarHostImmediate } ncclScalarResidence_t;

// Later releases append fields; rgpu reads only these first ones.
typedef struct {
    size_t size;
    unsigned int magic; // NCCL_CONFIG_MAGIC
    unsigned int version;
    int blocking;
} ncclConfig_t;
#define NCCL_CONFIG_MAGIC 0xcafebeef

typedef struct {
    size_t size;
    unsigned int magic;
    unsigned int version;
    float estimatedTime;
} ncclSimInfo_t;

#define NCCL_CALL __attribute__((visibility("default"))) ncclResult_t

NCCL_CALL ncclGetVersion(int *version);
NCCL_CALL ncclGetUniqueId(ncclUniqueId *id);
NCCL_CALL ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
NCCL_CALL ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                 ncclConfig_t *config);
NCCL_CALL ncclCommInitRankScalable(ncclComm_t *comm, int ranks, int rank, int id_count,
                                   ncclUniqueId *ids, ncclConfig_t *config);
NCCL_CALL ncclCommInitAll(ncclComm_t *comms, int count, const int *devices);
NCCL_CALL ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made,
                        ncclConfig_t *config);
NCCL_CALL ncclCommShrink(ncclComm_t comm, int *excluded, int count, ncclComm_t *made,
                         ncclConfig_t *config, int flags);
NCCL_CALL ncclCommFinalize(ncclComm_t comm);
NCCL_CALL ncclCommDestroy(ncclComm_t comm);
NCCL_CALL ncclCommAbort(ncclComm_t comm);
NCCL_CALL ncclCommRevoke(ncclComm_t comm, int flags);
NCCL_CALL ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
NCCL_CALL ncclCommCount(ncclComm_t comm, int *count);
NCCL_CALL ncclCommCuDevice(ncclComm_t comm, int *device);
NCCL_CALL ncclCommUserRank(ncclComm_t comm, int *rank);
__attribute__((visibility("default"))) const char *ncclGetErrorString(ncclResult_t result);
__attribute__((visibility("default"))) const char *ncclGetLastError(ncclComm_t comm);
__attribute__((visibility("default"))) void ncclResetDebugInit(void);

NCCL_CALL ncclMemAlloc(void **memory, size_t size);
NCCL_CALL ncclMemFree(void *memory);
NCCL_CALL ncclCommRegister(ncclComm_t comm, void *memory, size_t size, void **handle);
NCCL_CALL ncclCommDeregister(ncclComm_t comm, void *handle);
NCCL_CALL ncclCommWindowRegister(ncclComm_t comm, void *memory, size_t size, ncclWindow_t *window,
                                 int flags);
NCCL_CALL ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window);
NCCL_CALL ncclDevCommCreate(ncclComm_t comm, const void *requirements, void *made);
NCCL_CALL ncclDevCommDestroy(ncclComm_t comm, const void *made);

NCCL_CALL ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
                                   ncclScalarResidence_t residence, ncclComm_t comm);
NCCL_CALL ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

NCCL_CALL ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
NCCL_CALL ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                     int root, ncclComm_t comm, cudaStream_t stream);
NCCL_CALL ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream);
NCCL_CALL ncclBcast(void *data, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                    cudaStream_t stream);
NCCL_CALL ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                        ncclComm_t comm, cudaStream_t stream);
NCCL_CALL ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
                            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
NCCL_CALL ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                   cudaStream_t stream);
NCCL_CALL ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                   cudaStream_t stream);
NCCL_CALL ncclAlltoAll(const void *from, void *to, size_t count, ncclDataType_t type,
                       ncclComm_t comm, cudaStream_t stream);
NCCL_CALL ncclGather(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                     ncclComm_t comm, cudaStream_t stream);
NCCL_CALL ncclScatter(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                      ncclComm_t comm, cudaStream_t stream);

NCCL_CALL ncclGroupStart(void);
NCCL_CALL ncclGroupEnd(void);
NCCL_CALL ncclGroupSimulateEnd(ncclSimInfo_t *information);

#endif
