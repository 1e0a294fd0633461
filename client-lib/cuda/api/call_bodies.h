// SPDX-License-Identifier: BSD-3-Clause
// What the bodies in proto/cuda.spec are written with: the functions of the folders below, and
// those here, which several calls have in common. api_calls.c is generated from the bodies.
#ifndef RGPU_CLIENT_CALL_BODIES_H
#define RGPU_CLIENT_CALL_BODIES_H

#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/copy/awaited_ends.h"
#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/managed/managed_advice.h"
#include "client-lib/cuda/managed/managed_memory.h"
#include "client-lib/cuda/memory/arrays.h"
#include "client-lib/cuda/memory/device_memory.h"
#include "client-lib/cuda/memory/kept_memory.h"
#include "client-lib/cuda/memory/memory_pools.h"
#include "client-lib/cuda/memory/opened_memory.h"
#include "client-lib/cuda/memory/opened_pools.h"
#include "client-lib/cuda/memory/physical_memory.h"
#include "client-lib/cuda/memory/virtual_memory.h"
#include "client-lib/cuda/objects/code_loading.h"
#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/objects/green_contexts.h"
#include "client-lib/cuda/objects/libraries.h"
#include "client-lib/cuda/objects/linking.h"
#include "client-lib/cuda/objects/modules.h"
#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/report/error_log.h"
#include "client-lib/cuda/session/box_session.h"
#include "client-lib/cuda/session/process.h"
#include "client-lib/cuda/work/host_pointers.h"
#include "client-lib/cuda/work/stream_function.h"
#include "client-lib/cuda/work/stream_names.h"
#include "common/driver/error.h"
#include "common/driver/export_tables.h"
#include "common/driver/old_launch.h"
#include "common/driver/proc_address.h"

// A stream and its context. Default streams belong to the current context and have no object.
struct found_stream {
    const struct object *stream;
    const struct object *context;
    uint64_t default_id; // 0: not a default stream
};
CUresult stream_find(CUstream stream, struct found_stream *out);
// Returns the green context of a stream; NULL if its context is none.
CUgreenCtx stream_green_context(const struct found_stream *stream);

// Finds a function or kernel, and the place of one of its parameters.
CUresult code_find(enum handle_kind kind, const void *handle, struct object **function);
CUresult code_parameter(struct object *function, size_t index, size_t *offset, size_t *size);
// Finds the state that FUNCTION keeps for the launch calls of CUDA before version 4. There must be
// a current context.
CUresult old_launch_of(CUfunction function, struct old_launch ***out);

// Ends a call without Async that copies on the device alone. The driver returns before the GPU has
// finished such a copy, unless memory is marked for synchronous copies; the order of the stream
// covers the rest. An address that is not known here may be a variable of a module, or wrong: then
// the box is queried, so that this call returns the error.
CUresult copy_settled(CUresult result, CUdeviceptr dst, CUdeviceptr src, size_t size,
                      CUstream stream);
// Fill linear memory and rows with elements of ELEMENT bytes: 1, 2 or 4.
CUresult fill_linear(CUdeviceptr dst, uint32_t value, size_t element, size_t count,
                     CUstream stream);
CUresult fill_rows(CUdeviceptr dst, size_t pitch, uint32_t value, size_t element, size_t width,
                   size_t height, CUstream stream);
// Returns the size of rows that fill_span() measures; SIZE_MAX if they do not fit.
size_t fill_bytes(size_t pitch, size_t width, size_t element, size_t height);

// The sides of copy_array_line().
#define LINE_OF_HOST(address) \
    CU_MEMORYTYPE_HOST, (struct array_line) \
    { \
        .host = (address) \
    }
#define LINE_OF_DEVICE(address) \
    CU_MEMORYTYPE_DEVICE, (struct array_line) \
    { \
        .device = (address) \
    }
#define LINE_OF_ARRAY(which, at) \
    CU_MEMORYTYPE_ARRAY, (struct array_line) \
    { \
        .array = (which), .offset = (at) \
    }

// Returns RESULT, but with CUDA_ERROR_INVALID_VALUE for any invalid handle, context or device: the
// driver reports these so from queries of arrays whose memory is mapped later.
CUresult array_answer(CUresult result);
// Converts a device number, by which older calls name a location.
CUmemLocation location_of_device(CUdevice device);
// Returns an error if memory at LOCATION has no pools for allocations of TYPE.
CUresult pool_check_location(const CUmemLocation *location, CUmemAllocationType type);

// Asks for the atomic operations that DEV does on memory of PEER, or of the host unless OF_PEER.
CUresult device_ask_atomics(unsigned int *capabilities, const CUatomicOperation *operations,
                            unsigned int count, CUdevice dev, CUdevice peer, bool of_peer);
// Asks for the largest clusters of FUNC, or how many of them run at a time.
CUresult occupancy_of_clusters(int *answer, CUfunction func, const CUlaunchConfig *config,
                               bool want_size);

// Add a node with PARAMS after COUNT nodes, and change those of a node, or of the same node in an
// instantiated graph.
CUresult graph_node_add(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                        CUgraphNodeParams params);
CUresult graph_node_set(CUgraphNode node, CUgraphNodeParams params);
CUresult graph_node_set_in_exec(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams params);
// Convert the parameters of one kind of node to those of any.
CUgraphNodeParams node_of_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUgraphNodeParams node_of_kernel(const CUDA_KERNEL_NODE_PARAMS *params);
CUgraphNodeParams node_of_copy(const CUDA_MEMCPY3D *params, CUcontext ctx);
CUgraphNodeParams node_of_set(const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx);
CUgraphNodeParams node_of_host(const CUDA_HOST_NODE_PARAMS *params);
CUgraphNodeParams node_of_child(CUgraph graph);
CUgraphNodeParams node_of_record(CUevent event);
CUgraphNodeParams node_of_wait(CUevent event);
CUgraphNodeParams node_of_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
CUresult graph_node_event(CUgraphNode node, CUgraphNodeType type, CUevent *event);
// Adds or removes edges.
CUresult graph_depend(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                      const CUgraphEdgeData *edges, size_t count, bool remove);
// Lists the neighbours of a node on one side (WIRE_NODE_...).
CUresult graph_neighbours(CUgraphNode node, uint32_t what, CUgraphNode *out, CUgraphEdgeData *edges,
                          size_t *count);
CUresult graph_instantiate_with(CUgraphExec *exec, CUgraph graph,
                                CUDA_GRAPH_INSTANTIATE_PARAMS *params, bool per_thread);

// Sends several operations on values in memory, with addresses that the GPU knows, by REQUEST.
typedef CUresult (*stream_values_request)(CUstream stream, unsigned int count,
                                          CUstreamBatchMemOpParams *operations, unsigned int flags);
CUresult stream_values(stream_values_request request, CUstream stream, unsigned int count,
                       const CUstreamBatchMemOpParams *operations, unsigned int flags);

#endif
