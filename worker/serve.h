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
#include "worker_driver.h"

enum { SERVE_FIXED_MAX = 1024 };

struct serve;

// How the thread that reads the link goes on when a request waits; only it is asked.
struct serve_reader {
    void (*let_others_read)(struct serve *serve);
    // The request may wait, but hardly ever does: should it, another thread takes requests then. False: it
    // is to hand over beforehand.
    bool (*may_linger)(struct serve *serve);
};

struct serve {
    const struct serve_reader *reader;
    const struct wire_request *request;
    const uint8_t *end; // of the record
    CUresult result;
    bool reading;      // this thread is the one that reads the link
    CUcontext current; // the driver's current context in this thread
    uint32_t epoch;    // of session.context_epoch when that was so
    uint32_t fixed_size, bytes_size;
    uint64_t known_start, known_end; // last range found by serve_device_range
    uint32_t known_epoch;
    uint8_t fixed[SERVE_FIXED_MAX];
    uint8_t *bytes;   // WIRE_INLINE_MAX + 1024
    uint8_t *record;  // WIRE_RECORD_MAX
    uint64_t token;   // of the execution under way (relief.c); 0: none
    uint8_t *payload; // heap, of a push block that was read before its turn; else NULL
};
enum { SERVE_BYTES_MAX = WIRE_INLINE_MAX + 4096 };

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

// The driver's object behind a handle of the client; NULL and INVALID_HANDLE noted if there is none. What was
// instantiated of a graph and needs a context that has gone is given with CONTEXT_IS_DESTROYED noted: it can be ended, and
// nothing else done with it.
// HANDLE_STREAM passes the two default streams through; HANDLE_FUNCTION takes kernels too.
void *serve_handle(struct serve *serve, enum handle_kind kind, uint64_t handle);
// The driver's ordinal of the session's device; INVALID_DEVICE noted if there is none.
CUdevice serve_device(struct serve *serve, int32_t device);
// The handle of the caller's current context; 0: none.
uint64_t serve_context(const struct serve *serve);
// That of the context in which the object behind HANDLE lives; the caller's where it is the default stream, or lives in none.
uint64_t serve_context_of(const struct serve *serve, uint64_t handle);
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

struct serve *serve_new(void);
void serve_free(struct serve **serve);
// How many reply bytes there is room for.
uint32_t serve_reply_room(const struct serve *serve, uint32_t wanted);
bool serve_device_range(struct serve *serve, uint64_t address, uint64_t size);
// Memory of a GPU that holds ADDRESS. A context is current.
bool serve_find_range(uint64_t address, uint64_t *start, uint64_t *end);
void serve_forget_children(uint64_t parent);
uint64_t serve_handle_of(enum handle_kind kind, const void *object); // 0: none
bool serve_require(struct serve *serve, const void *function);       // the driver has that function

#endif
