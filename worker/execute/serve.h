// SPDX-License-Identifier: BSD-3-Clause
// What the generated and the hand-written request handlers of the worker call (see docs/protocol.md).
// A `struct serve` is one request being served by one thread; its functions are that thread's.
#ifndef RGPU_WORKER_SERVE_H
#define RGPU_WORKER_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/wire.h"

struct serve;

enum serve_kind {
    SERVE_ASYNC = 1, // no reply; a failure is kept for the next reply
    SERVE_SYNC,      // answered by the thread that reads the link
    SERVE_BLOCKING,  // may wait for the GPU: another thread reads the link meanwhile
};

struct serve_entry {
    void (*handle)(struct serve *serve, const void *args);
    bool (*check)(const void *args); // NULL: any are possible
    // Whether what the request waits for has come, without waiting; NULL: cannot be asked.
    CUresult (*query)(struct serve *serve, const void *args);
    enum serve_kind kind;
    unsigned traits;    // enum serve_trait of worker_serve.h
    uint32_t args_size; // of the fixed part; the record holds at least this
    bool tail;          // bytes or a string may follow; else the record ends there
};
extern const struct serve_entry serve_table[]; // by operation, CUDA_OP_LIMIT entries

// Notes the first failure of this request; CUDA_SUCCESS changes nothing.
void serve_fail(struct serve *serve, CUresult result);
bool serve_failed(const struct serve *serve);

// The driver's object behind a handle of the client; NULL and INVALID_HANDLE noted if there is none.
// HANDLE_STREAM passes the two default streams through; HANDLE_FUNCTION takes kernels too.
void *serve_handle(struct serve *serve, enum handle_kind kind, uint64_t handle);
// The driver's ordinal of the session's device; INVALID_DEVICE noted if there is none.
CUdevice serve_device(struct serve *serve, int32_t device);
// The handle of the caller's current context; 0: none.
uint64_t serve_context(const struct serve *serve);
// Ties a handle that the client minted to the driver's object, which dies with PARENT (0: with nothing).
void serve_bind(struct serve *serve, enum handle_kind kind, uint64_t handle, void *object,
                uint64_t parent);
void serve_unbind(struct serve *serve, enum handle_kind kind, uint64_t handle);

// A string behind the arguments, checked to be inside the record and NUL-terminated; else NULL with
// INVALID_VALUE noted. Bytes likewise.
const char *serve_string(struct serve *serve, const void *at, uint32_t length);
bool serve_bytes(struct serve *serve, const void *at, uint32_t length);

// Outputs of this request: the fixed part, then bytes behind it. Sent when the handler returns,
// together with the result, and not at all when the request failed (bytes are sent even then).
void serve_reply(struct serve *serve, const void *reply, size_t size);
void serve_reply_bytes(struct serve *serve, const void *bytes, size_t size);

#endif
