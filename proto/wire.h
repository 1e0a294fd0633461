// SPDX-License-Identifier: BSD-3-Clause
// The records on a session's link after its transport is chosen: requests to the worker, events to
// the client, and the description of the box's devices. See docs/reference/protocol.md.
//
// All fields are little endian, as on x86-64 and arm64; the handshake refuses other hosts. The
// length of a record is a multiple of eight bytes and at most WIRE_RECORD_MAX. Lengths and offsets
// are bytes.
#ifndef RGPU_PROTO_WIRE_H
#define RGPU_PROTO_WIRE_H

#include <stdint.h>

#include "proto/cuda_abi.h"

enum {
    WIRE_RECORD_MAX = 72 * 1024,
    WIRE_INLINE_MAX = 64 * 1024, // bytes of data that one record may carry after its arguments
    WIRE_BLOCK_SIZE = 512 * 1024,
    WIRE_DEVICE_MAX = 64,       // devices of one session
    WIRE_ATTRIBUTE_LIMIT = 160, // device attributes are numbered below this
    WIRE_PAIRS_MAX = 1024,      // pairs of multiprocessors of a device
};

// A request: the header, then the arguments of its operation (struct args_* of cuda_ops.h), then
// inline data.
struct wire_request {
    uint32_t size;        // of the whole record, header included
    uint16_t op;          // enum cuda_op
    uint16_t flags;       // zero
    uint32_t call;        // echoed in the reply; 0: no reply is wanted
    uint32_t traced_call; // since 0.2: number of the program's call if its work is traced; else 0
    uint64_t context;     // handle of the calling thread's current context; 0: none
};
// Bit of wire_event.flags: the text of EVENT_PRINT is for standard error.

enum { WIRE_PRINT_ERROR = 1 };

// The events of a worker. Each has this header; `call` and `result` have a meaning in EVENT_REPLY
// only.
enum wire_event_kind {
    EVENT_REPLY = 1,     // outputs of a sync request (struct reply_*), then reply_bytes
    EVENT_DATA,          // struct wire_data; `size` bytes of payload follow the record (bulk)
    EVENT_CREDIT,        // struct wire_credit: more blocks of pushes may be sent
    EVENT_WANTED,        // struct wire_wanted: send the data of a late push now
    EVENT_PULLED,        // struct wire_job_end: a pull's last byte has been sent, or it failed
    EVENT_HOST_FUNCTION, // struct wire_host_function: run it, answer host_function_done
    EVENT_PRINT,         // text that kernels printed follows the header
    EVENT_REACHED,       // struct wire_reached: a watched event is complete
    EVENT_ENDING,        // the box ends the session; a NUL-terminated reason follows
    EVENT_GRAPH_WANTED,  // struct wire_callback: a copy of a graph wants its source (graph_bytes)
    EVENT_GRAPH_DATA,    // struct wire_callback, and bytes of a copy's target after it
    EVENT_GRAPH_GONE,    // struct wire_callback: the box will not call it again; destroy it
    EVENT_GRAPH_BLOCK,   // as EVENT_GRAPH_DATA, but the bytes follow the record (bulk)
    EVENT_PEER_FRAME =
        40, // struct wire_peer_frame for the other end of a peer link, its bytes after it (bulk)
    EVENT_PEER_OVER,    // struct wire_peer_over: a copy between boxes, or the link, has ended
    EVENT_PULLED_SMALL, // struct wire_job_end, and the data after it: a small pull has ended
};

struct wire_event {
    uint32_t size;
    uint16_t kind;
    uint16_t flags; // since 0.2: EVENT_PRINT: WIRE_PRINT_ERROR, for standard error; else zero
    uint32_t call;
    int32_t result;   // CUresult of the request
    int32_t deferred; // CUresult of an earlier request that wanted no reply; reported once
    uint32_t bytes;   // EVENT_REPLY: length of the reply_bytes; EVENT_PRINT: of the text
};

// Data of a pull, a copy from the box to the client. A push is a copy to the box. The client
// numbers its pulls and pushes; the number is the `job`.
struct wire_data {
    uint32_t job;
    uint32_t size;
    uint64_t offset; // in the whole copy
};

struct wire_credit {
    uint32_t blocks; // of WIRE_BLOCK_SIZE bytes
    uint32_t reserved;
};

struct wire_wanted {
    uint32_t job;
    uint32_t reserved;
};

struct wire_reached {
    uint32_t watch; // number of the watch, from the request
    int32_t result; // CUresult; not CUDA_SUCCESS: the event will never be complete
};

// The frames between the two ends of a peer link, which connects workers of two boxes. A copy
// begins when its stream has reached it on one box and the other box has sent PEER_READY.
enum wire_peer_kind {
    // If the target of the copy is memory of the frame's sender, and `slot` is not 0, the receiver
    // may write the data to the address `offset` with the RDMA key `slot`. `result` is 1 in READY
    // if the sender's memory can be registered, in GO if the source must be registered.
    PEER_READY = 1, // the sender takes part in the copy
    PEER_GO,        // the stream has reached the copy, so data may be sent
    // `bytes` of the copy, packed, at `offset`; they follow the record (bulk), or are in block
    // `slot`
    PEER_DATA,
    PEER_CREDIT, // room for `offset` more blocks, or the blocks whose bits are set in `job`
    PEER_DONE,   // the target has all data
    PEER_FAILED, // the copy has failed with `result`
    PEER_BLOCKS, // the sender's blocks are at `offset`, and `job` is the key to them
    PEER_PLACED, // all data have been written to the address of READY or GO
    // as PEER_DATA, but with a struct wire_far_put (WIRE_FAR_PUT_HEAD bytes) and then its data
    PEER_PUT,
    PEER_PUT_OVER, // `offset` more of the receiver's puts are complete
    PEER_REGISTER, // register the target's memory, and send READY again
};
struct wire_peer_frame {
    uint32_t size;  // of this record
    uint32_t peer;  // number of the link
    uint32_t kind;  // enum wire_peer_kind
    int32_t result; // CUresult, where the kind does not say otherwise
    uint64_t job;
    uint64_t offset;
    uint32_t bytes; // at most WIRE_BLOCK_SIZE
    uint32_t slot;
};

// Puts of kernels into windows of other boxes. A kernel writes a put request into a slot of the
// proxy queue, which is page-locked memory of its worker. rgpu_device.h declares the same
// structures for kernels. The counters that kernels read follow the slots: for each block the
// number of its completed requests, for each block and tag the number of signals from other boxes,
// and last how often members of other boxes have reached a barrier.
enum { WIRE_PROXY_QUEUE_SLOTS = 256, WIRE_PUT_REQUEST_INLINE = 32, WIRE_FAR_PUT_HEAD = 64 };
enum wire_put_request_tag { WIRE_PUT_REQUEST_NO_TAG = -1, WIRE_PUT_REQUEST_BARRIER = -2 };
struct wire_put_request {
    uint32_t turn;   // number of the request plus 1; the kernel writes it last
    uint32_t rank;   // of the target
    uint32_t block;  // that makes the put
    int32_t tag;     // of the signal, or enum wire_put_request_tag
    uint64_t offset; // in the target's window
    uint64_t bytes;
    union {
        uint64_t source;                       // address in the sender's GPU
        uint8_t data[WIRE_PUT_REQUEST_INLINE]; // if `bytes` is at most WIRE_PUT_REQUEST_INLINE
    };
};
struct wire_proxy_queue {
    uint32_t taken; // number of put requests whose slots are free again
    uint32_t lost;  // 1: the box of a member is lost, or the window is closed
    uint32_t reserved[14];
    struct wire_put_request slots[WIRE_PROXY_QUEUE_SLOTS];
    uint32_t counters[];
};
_Static_assert(sizeof(struct wire_put_request) == 64 && sizeof(struct wire_proxy_queue) % 64 == 0,
               "layout");

// A put to another box. The target's box validates all members.
struct wire_far_put {
    uint32_t window; // number of the target's window on its box
    uint32_t block;  // of the target
    int32_t tag;     // as in wire_put_request
    uint32_t bytes;
    uint64_t offset;
};

// peer_expect and peer_meet: the ways that the two ends may try besides their existing
// connection, as bits.
enum wire_peer_way { PEER_WAY_SHM = 1, PEER_WAY_RDMA = 2, PEER_WAYS_ALL = 3 };

// peer_meet: the result of connecting the two ends.
struct wire_peer_met {
    char refusal[128]; // why they are not connected; empty: they are
    char way[16];      // name of the transport in use
    char reason[240];  // why that transport was chosen
};

// peer_offer: how another box can connect to this worker. The client passes it on unchanged.
struct wire_peer_offer {
    uint64_t session; // of the worker, on its box
    uint32_t number;  // of the link that the worker expects
    uint32_t reserved;
    uint8_t token[32];    // secret that the other box has to show
    uint8_t boot_id[16];  // of the box's kernel
    char refusal[128];    // why there is no offer; empty: there is one
    char addresses[1024]; // of the box
};

// site_nccl_run: one operation of one communicator. `type` and `op` are NCCL's numbers.
enum wire_collective_kind {
    WIRE_ALL_REDUCE,
    WIRE_REDUCE,
    WIRE_BROADCAST,
    WIRE_ALL_GATHER,
    WIRE_REDUCE_SCATTER,
    WIRE_SEND,
    WIRE_RECEIVE,
};
enum wire_collective_scale { WIRE_UNSCALED, WIRE_SCALED_BY_NUMBER, WIRE_SCALED_BY_MEMORY };
struct wire_collective {
    uint32_t comm;                 // number of the communicator in the session
    uint8_t kind, type, op, scale; // `scale`: how each rank multiplies its numbers before
    uint64_t from, to, count;      // device addresses, and the count argument of NCCL's call
    uint64_t scalar;               // the factor, or with WIRE_SCALED_BY_MEMORY its address
    uint64_t stream;               // handle
    int32_t root;                  // or the other rank of a send or a receive
    uint32_t reserved;
};

// peer_show: memory of a GPU, with the driver's IPC handle for other processes of the host. The
// client passes it on unchanged.
struct wire_peer_memory {
    uint64_t base, size;
    uint8_t handle[64];
};

// peer_lend: physical memory of a GPU, whose file descriptor is sent over the link. The client
// passes it on unchanged.
struct wire_peer_loan {
    uint64_t size;
    uint32_t region; // number of the descriptor
    uint32_t reserved;
};

struct wire_peer_over {
    uint32_t peer;
    int32_t result;
    uint64_t job;     // 0: the link is down
    uint64_t waiting; // as the request says
};

struct wire_job_end {
    uint32_t job;
    int32_t result;
};

struct wire_host_function {
    uint64_t token;
    int32_t status; // CUresult for a stream callback
    uint32_t is_callback;
};

// The name that requests use for a host address in memory that client and worker both map: the
// region's number and the offset in it.
#define WIRE_HOST(region, offset) ((uint64_t)(region) << 48 | (uint64_t)(offset))
#define WIRE_HOST_REGION(host) ((uint32_t)((host) >> 48))
#define WIRE_HOST_OFFSET(host) ((host) & ((UINT64_C(1) << 48) - 1))
enum { WIRE_REGION_STAGING = 0, WIRE_REGION_LIMIT = 1 << 16 };

// The box writes this to a flag instead of VALUE if it has more to report than a flag can hold; the
// waiter must then send a query. The number is far below VALUE and later values of the flag.
#define WIRE_FLAG_ASK(value) ((uint32_t)(value) - (UINT32_C(1) << 30))

// One entry of the launch request's inline data, before the packed parameters.
struct wire_launch_attribute {
    int32_t id; // CUlaunchAttributeID
    uint32_t reserved;
    CUlaunchAttributeValue value; // an event in it is a handle of the session
};
enum { WIRE_LAUNCH_COOPERATIVE = 1, WIRE_LAUNCH_ATTRIBUTES_MAX = 32 };

// Reply of function_info: this header, then parameter_count of wire_parameter.
struct wire_function_info {
    uint32_t parameter_count;
    uint32_t parameter_bytes; // size of the packed parameter buffer
    int32_t max_threads;      // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
    int32_t static_shared;    // bytes
};
struct wire_parameter {
    uint32_t offset;
    uint32_t size;
};

// Request and reply of host_mirrors_read.
struct wire_mirror_part {
    uint64_t at, size; // bytes
    uint32_t region, reserved;
};
struct wire_mirror_changes {
    uint64_t done;  // bytes of the part that these changes cover
    uint32_t bytes; // of encoded changes, which follow, padded to a multiple of 8
    uint32_t reserved;
};
enum { WIRE_MIRROR_PARTS_MAX = 32 };

// Reply of function_attributes.
struct wire_function_attributes {
    uint32_t known; // a bit for each attribute that the driver has
    int32_t values[CU_FUNC_ATTRIBUTE_MAX];
};
_Static_assert(CU_FUNC_ATTRIBUTE_MAX <= 32, "an attribute has a bit");

// JIT and library options are sent as an array of these. The value of a log buffer is its size.
struct wire_option {
    uint32_t option;
    uint32_t group; // 0: CUjit_option, 1: CUlibraryOption
    uint64_t value;
};
// Outputs of a load or a link step: this header, then the two logs, without NUL.
struct wire_jit_outputs {
    float wall_time; // ms
    uint32_t threads_per_block;
    uint32_t info_size;
    uint32_t error_size;
};

// The description of a session's devices that the worker sends in its WELCOME: the header, then
// `devices` times wire_device, then devices * devices P2P rows of wire_peer (row major).
struct wire_snapshot {
    uint32_t version;
    uint32_t devices;
    int32_t driver_version; // as cuDriverGetVersion
    uint32_t budgeted;      // 1: the lease has a memory budget, which total_memory then is
};
struct wire_device {
    char name[128]; // NUL-terminated
    uint8_t uuid[16];
    uint8_t luid[8];
    uint32_t luid_mask;
    int32_t luid_result; // CUresult of the query for `luid`
    char pci_bus_id[24];
    uint64_t total_memory; // bytes; the memory budget if the lease has one
    int32_t stream_priority_least;
    int32_t stream_priority_greatest;
    CUdevprop properties;
    uint32_t attribute_count;
    int32_t attribute_results[WIRE_ATTRIBUTE_LIMIT]; // CUresult of each
    int32_t attributes[WIRE_ATTRIBUTE_LIMIT];
    int32_t affinity_supported[4]; // by CUexecAffinityType
};
struct wire_peer {
    int32_t can_access;
    int32_t attributes[8]; // by CUdevice_P2PAttribute
    int32_t results[8];
};

// Sections follow after these rows, for clients that list in HELLO the calls that they know. A
// client skips a section that it does not know.
struct wire_section {
    uint32_t kind; // enum wire_section_kind
    uint32_t size; // bytes of the contents; the next section begins at a multiple of eight bytes
};
enum wire_section_kind {
    SECTION_CALLS = 1, // struct wire_known_call: the requests that the worker carries out
    SECTION_PATHS = 2, // struct wire_paths
};
struct wire_paths {
    uint32_t forced; // PATH_BITs of the paths that the client must use if it can; 0: any
    uint32_t reserved;
};
struct wire_known_call {
    uint32_t op;
    uint32_t form; // digest of arguments and reply; with another form, it is another call
};

// Types of handles, the same on both sides (HANDLE_* of the generated code).
enum handle_kind {
    HANDLE_CONTEXT = 1,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_FUNCTION,
    HANDLE_KERNEL,
    HANDLE_LIBRARY,
    HANDLE_POOL,
    HANDLE_LINK,
    HANDLE_GRAPH,
    HANDLE_NODE,
    HANDLE_EXEC,
    HANDLE_USER_OBJECT,
    HANDLE_CALLBACK,    // callback of a graph in the client: a function, a copy, a destructor
    HANDLE_MEMORY = 24, // physical device memory
    HANDLE_ARRAY = 32,
    HANDLE_MIPMAP = 33, // a mipmapped array
};

// Returns the driver's error for a wrong handle of that kind.
static inline CUresult wire_wrong_handle(enum handle_kind kind)
{
    if (kind == HANDLE_CONTEXT)
        return CUDA_ERROR_INVALID_CONTEXT;
    return kind == HANDLE_POOL || (kind >= HANDLE_GRAPH && kind <= HANDLE_CALLBACK)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_ERROR_INVALID_HANDLE;
}

// ---- graphs ----

// One dependency of a node, or of a capture. `edge` is valid only if the request says so.
struct wire_dependency {
    uint64_t node;
    CUgraphEdgeData edge;
};
// One edge, in lists and in changes.
struct wire_edge {
    uint64_t from, to;
    CUgraphEdgeData edge;
};
// graph_name: gives the handle to the object with this number.
struct wire_name {
    uint64_t number;
    uint64_t handle;
};
// The entries of lists: of a graph all nodes, those without dependencies, and edges; of a node its
// dependencies, its dependents (wire_dependency), and the graphs inside it. Other entries are
// uint64_t.
enum wire_graph_list {
    WIRE_GRAPH_NODES,
    WIRE_GRAPH_ROOTS,
    WIRE_GRAPH_EDGES,
    WIRE_NODE_DEPENDENCIES,
    WIRE_NODE_DEPENDENTS,
    WIRE_NODE_GRAPHS,
};
// Parameters of nodes, by CUgraphNodeType. Contexts, functions and events are handles.
struct wire_kernel_node {
    uint64_t function;
    uint64_t context; // 0: the caller's
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    uint32_t bytes; // of the packed parameters after this
};
struct wire_copy_node {
    uint64_t context;
    // The callback in the client that has the host side of the copy, if the box does not map that
    // memory; its rows are then packed. 0: none. If both sides are on the host, the client copies.
    uint64_t callback;
    CUDA_MEMCPY3D copy; // host sides that the box maps are WIRE_HOST names
};
struct wire_set_node {
    uint64_t context;
    CUDA_MEMSET_NODE_PARAMS params;
};
struct wire_host_node {
    uint64_t callback;
};
struct wire_child_node {
    uint64_t graph;
    uint32_t ownership; // CUgraphChildGraphNodeOwnership
    uint32_t reserved;
};
struct wire_event_node {
    uint64_t event;
};
struct wire_alloc_node {
    CUmemPoolProps pool;
    uint64_t size;
    uint64_t address;      // in answers
    uint32_t access_count; // of CUmemAccessDesc after this
    uint32_t reserved;
};
struct wire_free_node {
    uint64_t address;
};
struct wire_batch_node {
    uint64_t context;
    uint32_t count; // of CUstreamBatchMemOpParams after this
    uint32_t flags;
};
struct wire_conditional_node {
    uint64_t handle;
    uint64_t context;
    uint32_t type;
    uint32_t size; // of handles of its graphs after this
};
// Answers of graph_instantiate and graph_update, also if they fail.
struct wire_graph_outcome {
    int32_t result; // CUgraphInstantiateResult, CUgraphExecUpdateResult
    uint32_t reserved;
    uint64_t node, from_node; // 0: none
};
// EVENT_GRAPH_...: a callback.
struct wire_callback {
    uint64_t callback;
    uint64_t offset; // of the bytes that follow
    uint64_t size;
};

_Static_assert(sizeof(struct wire_request) == 24, "layout is part of the protocol");
_Static_assert(sizeof(struct wire_event) == 24, "layout is part of the protocol");
_Static_assert(sizeof(struct wire_data) == 16, "layout is part of the protocol");

// ---- records of the GPU's activity ----

// The records of activity_fetch follow each other without gaps. The record of a name precedes the
// first kernel that has it.
enum wire_activity_kind {
    WIRE_ACTIVITY_NAME = 1, // struct wire_activity_name
    WIRE_ACTIVITY_KERNEL,   // the others: struct wire_activity
    WIRE_ACTIVITY_COPY,
    WIRE_ACTIVITY_SET,
};
enum { WIRE_ACTIVITY_ASYNC = 1 };
struct wire_activity_name {
    uint16_t size; // of the record, a multiple of eight
    uint8_t kind;
    uint8_t reserved;
    uint32_t name; // number of the name, as in wire_activity
    char text[];   // NUL-terminated
};
struct wire_activity {
    uint16_t size;
    uint8_t kind;
    uint8_t flags;
    uint8_t copy, from, to; // enum cupti_copy, cupti_memory; of a set: its memory in `to`
    uint8_t reserved;
    uint64_t start, end;  // ns of the box's monotonic clock
    uint32_t correlation; // traced_call of the request that caused the work; 0: none
    uint32_t device;      // index in the session
    uint32_t context, stream;
    uint64_t graph_node;
    uint32_t graph;
    uint32_t name; // number of the kernel's name
    union {
        struct {
            uint32_t grid[3], block[3];
            uint32_t static_shared, dynamic_shared, local_bytes, registers;
        } kernel;
        struct {
            uint64_t bytes;
            uint32_t value;                                      // of a set
            uint32_t from_gpu, to_gpu, from_context, to_context; // of a copy between GPUs
        } move;
    };
};
_Static_assert(sizeof(struct wire_activity) == 96, "layout is part of the protocol");

// A tensor map in a record, where the alignment of CUtensorMap is not guaranteed.
typedef struct wire_tensor_map {
    uint64_t opaque[CU_TENSOR_MAP_NUM_QWORDS];
} wire_tensor_map;

#endif
