// SPDX-License-Identifier: BSD-3-Clause
// The part of CUPTI, NVIDIA's interface for profilers, that this project uses: constants and the
// layout of records, as in releases 12.0 to 13.0. Newer releases append fields to records. A record
// of a release older than a field is shorter, so a reader must not access the field there.
#ifndef RGPU_PROTO_CUPTI_ABI_H
#define RGPU_PROTO_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

typedef enum {
    CUPTI_SUCCESS = 0,
    CUPTI_ERROR_INVALID_PARAMETER = 1,
    CUPTI_ERROR_INVALID_OPERATION = 7,
    CUPTI_ERROR_OUT_OF_MEMORY = 8,
    CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT = 10,
    CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
    CUPTI_ERROR_NOT_INITIALIZED = 15,
    CUPTI_ERROR_QUEUE_EMPTY = 18,
    CUPTI_ERROR_INVALID_KIND = 21,
    CUPTI_ERROR_NOT_SUPPORTED = 27,
    CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
    CUPTI_ERROR_UNKNOWN = 999,
} CUptiResult;

typedef enum {
    CUPTI_ACTIVITY_KIND_MEMCPY = 1,
    CUPTI_ACTIVITY_KIND_MEMSET = 2,
    CUPTI_ACTIVITY_KIND_KERNEL = 3,
    CUPTI_ACTIVITY_KIND_DRIVER = 4,
    CUPTI_ACTIVITY_KIND_RUNTIME = 5,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
    CUPTI_ACTIVITY_KIND_OVERHEAD = 17,
    CUPTI_ACTIVITY_KIND_MEMCPY2 = 22, // between GPUs
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION = 39,
    CUPTI_ACTIVITY_KIND_COUNT = 56,
} CUpti_ActivityKind;

enum { CUPTI_EXTERNAL_KINDS = 6, CUPTI_EXTERNAL_KIND_CUSTOM0 = 3 };

typedef enum {
    CUPTI_CB_DOMAIN_DRIVER_API = 1,
    CUPTI_CB_DOMAIN_RUNTIME_API,
    CUPTI_CB_DOMAIN_RESOURCE,
    CUPTI_CB_DOMAIN_SYNCHRONIZE,
    CUPTI_CB_DOMAIN_NVTX,
    CUPTI_CB_DOMAIN_STATE,
    CUPTI_CB_DOMAIN_SIZE,
} CUpti_CallbackDomain;

// The direction of a copy: from host (H), device (D) or peer device (P) to one of these.
enum cupti_copy {
    CUPTI_COPY_HTOD = 1,
    CUPTI_COPY_DTOH = 2,
    CUPTI_COPY_DTOD = 8,
    CUPTI_COPY_HTOH = 9,
    CUPTI_COPY_PTOP = 10,
};
enum cupti_memory {
    CUPTI_MEMORY_UNKNOWN,
    CUPTI_MEMORY_PAGEABLE,
    CUPTI_MEMORY_PINNED,
    CUPTI_MEMORY_DEVICE,
    CUPTI_MEMORY_ARRAY,
    CUPTI_MEMORY_MANAGED,
};
enum { CUPTI_FLAG_ASYNC = 1 };

enum cupti_site { CUPTI_API_ENTER, CUPTI_API_EXIT };

// The argument of a callback about a call.
struct cupti_call_data {
    enum cupti_site site;
    const char *function;
    const void *parameters;
    void *result;
    const char *symbol; // of a kernel
    CUcontext context;
    uint32_t context_number;
    uint64_t *note; // for the profiler's own use; the same pointer at enter and exit
    uint32_t correlation;
};

#define CUPTI_RECORD __attribute__((packed, aligned(8)))

struct CUPTI_RECORD cupti_record {
    uint32_t kind;
};

struct CUPTI_RECORD cupti_kernel {
    uint32_t kind;
    uint8_t cache_config;
    uint8_t shared_config;
    uint16_t registers;
    uint32_t partitioned_requested, partitioned_executed;
    uint64_t start, end; // ns
    uint64_t completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit_config;
    uint32_t graph;
    void *access_policy;
    uint32_t channel, channel_type;
    uint32_t cluster[3];
    uint32_t cluster_policy;
    uint64_t local_total_wide;
    uint32_t largest_cluster, active_clusters; // both since 12.3
    uint8_t from_device;                       // since 13.0
    uint8_t padding_after[7];
};

struct CUPTI_RECORD cupti_copy_record {
    uint32_t kind;
    uint8_t copy; // enum cupti_copy
    uint8_t from, to;
    uint8_t flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint32_t runtime_correlation;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
    uint32_t channel, channel_type;
    uint8_t from_device;
    uint8_t padding_after[3];
    uint64_t count; // since 13.0
};

struct CUPTI_RECORD cupti_peer_copy_record {
    uint32_t kind;
    uint8_t copy;
    uint8_t from, to;
    uint8_t flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t from_gpu, from_context, to_gpu, to_context;
    uint32_t correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
    uint32_t channel, channel_type;
};

struct CUPTI_RECORD cupti_set_record {
    uint32_t kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags;
    uint16_t memory;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
    uint32_t channel, channel_type;
    uint8_t from_device;
    uint8_t padding_after[3];
};

struct CUPTI_RECORD cupti_call_record {
    uint32_t kind;
    uint32_t call;
    uint64_t start, end;
    uint32_t process, thread;
    uint32_t correlation;
    uint32_t result;
};

struct CUPTI_RECORD cupti_external_record {
    uint32_t kind;
    uint32_t external_kind;
    uint64_t external;
    uint32_t correlation;
    uint32_t reserved;
};

_Static_assert(sizeof(struct cupti_kernel) == 216, "layout of CUpti_ActivityKernel10");
_Static_assert(offsetof(struct cupti_kernel, name) == 104, "layout of CUpti_ActivityKernel10");
_Static_assert(sizeof(struct cupti_copy_record) == 96, "layout of CUpti_ActivityMemcpy6");
_Static_assert(sizeof(struct cupti_peer_copy_record) == 96, "layout of CUpti_ActivityMemcpyPtoP4");
_Static_assert(sizeof(struct cupti_set_record) == 88, "layout of CUpti_ActivityMemset4");
_Static_assert(sizeof(struct cupti_call_record) == 40, "layout of CUpti_ActivityAPI");
_Static_assert(sizeof(struct cupti_external_record) == 24,
               "layout of CUpti_ActivityExternalCorrelation");

typedef void (*CUpti_BuffersCallbackRequestFunc)(uint8_t **buffer, size_t *size,
                                                 size_t *max_records);
typedef void (*CUpti_BuffersCallbackCompleteFunc)(CUcontext context, uint32_t stream,
                                                  uint8_t *buffer, size_t size, size_t valid);
typedef uint64_t (*CUpti_TimestampCallbackFunc)(void);
typedef void (*CUpti_CallbackFunc)(void *argument, CUpti_CallbackDomain domain, uint32_t call,
                                   const void *data);
struct cupti_subscriber;

#endif
