// SPDX-License-Identifier: BSD-3-Clause
// Declares the functions that the worker's request handlers, generated and hand-written, call (see
// docs/reference/protocol.md). A `struct serve` is one request served by one thread; only this
// thread calls its functions.
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

// Callbacks of the thread that reads the link, for requests that wait. Only this thread calls them.
struct serve_reader {
    void (*let_others_read)(struct serve *serve);
    // For a request that may wait but hardly ever does: lets another thread take requests if this
    // one does wait. Returns false if the thread must hand over the link beforehand.
    bool (*may_linger)(struct serve *serve);
};

struct serve {
    const struct serve_reader *reader;
    const struct wire_request *request;
    const uint8_t *end; // of the record
    CUresult result;
    bool reading;      // this thread reads the link
    CUcontext current; // the driver's current context in this thread
    uint32_t epoch;    // value of session.context_epoch when CURRENT was read
    uint32_t fixed_size, bytes_size;
    uint64_t known_start, known_end; // last range found by serve_device_range
    uint32_t known_epoch;
    uint8_t fixed[SERVE_FIXED_MAX];
    uint8_t *bytes;   // WIRE_INLINE_MAX + 1024
    uint8_t *record;  // WIRE_RECORD_MAX
    uint64_t token;   // of the execution under way (relief.c); 0: none
    uint8_t *payload; // heap: a push block that was read before its turn; else NULL
};
enum { SERVE_BYTES_MAX = WIRE_INLINE_MAX + 4096 };

enum serve_kind {
    SERVE_ASYNC = 1, // no reply; a failure is kept for the next reply
    SERVE_SYNC,      // answered by the thread that reads the link
    SERVE_BLOCKING,  // may wait for the GPU: another thread reads the link meanwhile
};

struct serve_entry {
    void (*handle)(struct serve *serve, const void *args);
    bool (*check)(const void *args); // NULL: all arguments are valid
    // Returns SUCCESS if what the request waits for is complete, without waiting. NULL: cannot be
    // queried.
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

// Returns the driver's object of a client's handle; NULL, with INVALID_HANDLE noted, if there is
// none. An instantiated graph that needs an ended context is returned with CONTEXT_IS_DESTROYED
// noted; the caller may only destroy it. HANDLE_STREAM passes the two default streams through;
// HANDLE_FUNCTION takes kernels too.
void *serve_handle(struct serve *serve, enum handle_kind kind, uint64_t handle);
// Has serve_handle() call NAMED with each kernel, and note what it returns. Call before requests
// are served.
void serve_watch_kernels(CUresult (*named)(struct serve *serve, uint64_t handle, CUkernel kernel));
// Returns the driver's ordinal of the session's device. Notes INVALID_DEVICE if there is none.
CUdevice serve_device(struct serve *serve, int32_t device);
// Returns the handle of the caller's current context; 0: none.
uint64_t serve_context(const struct serve *serve);
// Returns the handle of the context in which the object of HANDLE lives; for the default stream, or
// an object without a context, the caller's.
uint64_t serve_context_of(const struct serve *serve, uint64_t handle);
// Ties a handle that the client chose to the driver's object, which ends with PARENT (0: with
// nothing).
void serve_bind(struct serve *serve, enum handle_kind kind, uint64_t handle, void *object,
                uint64_t parent);
void serve_unbind(struct serve *serve, enum handle_kind kind, uint64_t handle);

// Returns a string after the arguments, checked to be inside the record and NUL-terminated; else
// NULL, with INVALID_VALUE noted. serve_bytes() checks bytes in the same way.
const char *serve_string(struct serve *serve, const void *at, uint32_t length);
bool serve_bytes(struct serve *serve, const void *at, uint32_t length);

// Sets the outputs of this request: the fixed part, then bytes after it. They are sent with the
// result when the handler returns. A failed request sends only bytes.
void serve_reply(struct serve *serve, const void *reply, size_t size);
void serve_reply_bytes(struct serve *serve, const void *bytes, size_t size);

struct serve *serve_new(void);
void serve_free(struct serve **serve);
// Returns the space for reply bytes, at most WANTED.
uint32_t serve_reply_room(const struct serve *serve, uint32_t wanted);
bool serve_device_range(struct serve *serve, uint64_t address, uint64_t size);
// Finds the GPU memory that holds ADDRESS. A context is current.
bool serve_find_range(uint64_t address, uint64_t *start, uint64_t *end);
void serve_forget_children(uint64_t parent);
uint64_t serve_handle_of(enum handle_kind kind, const void *object); // 0: none
// returns true if the driver has that function
bool serve_require(struct serve *serve, const void *function);

#endif
