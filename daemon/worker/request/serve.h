// SPDX-License-Identifier: BSD-3-Clause
// Functions for request handlers, generated and hand-written (docs/reference/protocol.md). A
// `struct serve` is one request; only the thread that serves it calls these functions.
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

// Functions of the thread that reads the link, for requests that wait. Only this thread calls them.
struct serve_reader {
    void (*let_others_read)(struct serve *serve);
    // For a request that seldom waits: see relief_linger().
    bool (*may_linger)(struct serve *serve);
};

struct serve {
    const struct serve_reader *reader;
    const struct wire_request *request;
    const uint8_t *end; // end of the record
    CUresult result;
    bool reading;      // this thread reads the link
    CUcontext current; // current context of this thread in the driver
    uint32_t epoch;    // session.context_epoch when CURRENT was read
    uint32_t fixed_size, bytes_size;
    uint64_t known_start, known_end; // result of the last serve_device_range()
    uint32_t known_epoch;
    uint8_t fixed[SERVE_FIXED_MAX];
    uint8_t *bytes;   // WIRE_INLINE_MAX + 1024 bytes
    uint8_t *record;  // WIRE_RECORD_MAX bytes
    uint64_t token;   // identifies the execution for relief.c; 0: none
    uint8_t *payload; // allocated: a push block that was read before its turn; else NULL
};
enum { SERVE_BYTES_MAX = WIRE_INLINE_MAX + 4096 };

enum serve_kind {
    SERVE_ASYNC = 1, // no reply; a failure is reported with the next reply
    SERVE_SYNC,      // executed by the thread that reads the link
    SERVE_BLOCKING,  // may wait for the GPU; another thread reads the link meanwhile
};

struct serve_entry {
    void (*handle)(struct serve *serve, const void *args);
    bool (*check)(const void *args); // NULL: all arguments are valid
    // Returns SUCCESS if everything that the request waits for is complete; does not wait. NULL:
    // cannot be queried.
    CUresult (*query)(struct serve *serve, const void *args);
    enum serve_kind kind;
    unsigned traits;    // bits of enum serve_trait of worker_serve.h
    uint32_t args_size; // minimum size of the record's arguments
    bool tail;          // bytes or a string may follow
};
extern const struct serve_entry serve_table[]; // rows by operation number; CUDA_OP_LIMIT entries

// Notes an error of this request; only the first one counts. CUDA_SUCCESS changes nothing.
void serve_fail(struct serve *serve, CUresult result);
bool serve_failed(const struct serve *serve);

// Returns the driver's object of a client's handle; NULL with INVALID_HANDLE noted if there is
// none. For an executable graph that needs an ended context, notes CONTEXT_IS_DESTROYED; the caller
// may only destroy it. HANDLE_STREAM accepts the two default streams, HANDLE_FUNCTION also kernels.
void *serve_handle(struct serve *serve, enum handle_kind kind, uint64_t handle);
// Makes serve_handle() call NAMED for each kernel and note its result. Must be called before
// requests are served.
void serve_watch_kernels(CUresult (*named)(struct serve *serve, uint64_t handle, CUkernel kernel));
// Returns the driver's number of a session's device. Notes INVALID_DEVICE if there is none.
CUdevice serve_device(struct serve *serve, int32_t device);
// Returns the handle of the client's current context; 0: none.
uint64_t serve_context(const struct serve *serve);
// Returns the handle of the context of an object; for default streams and objects without a
// context, the client's current one.
uint64_t serve_context_of(const struct serve *serve, uint64_t handle);
// Binds a handle that the client has chosen to the driver's object. The handle ends with PARENT (0:
// none).
void serve_bind(struct serve *serve, enum handle_kind kind, uint64_t handle, void *object,
                uint64_t parent);
void serve_unbind(struct serve *serve, enum handle_kind kind, uint64_t handle);

// Return a string after the arguments, or check LENGTH bytes there. The string must be in the
// record and end with a NUL; else INVALID_VALUE is noted.
const char *serve_string(struct serve *serve, const void *at, uint32_t length);
bool serve_bytes(struct serve *serve, const void *at, uint32_t length);

// Set the outputs of this request: fixed part, then bytes. They are sent when the handler returns.
// A failed request sends only bytes.
void serve_reply(struct serve *serve, const void *reply, size_t size);
void serve_reply_bytes(struct serve *serve, const void *bytes, size_t size);

struct serve *serve_new(void);
void serve_free(struct serve **serve);
// Returns how many reply bytes are possible, at most WANTED.
uint32_t serve_reply_room(const struct serve *serve, uint32_t wanted);
bool serve_device_range(struct serve *serve, uint64_t address, uint64_t size);
// Finds the GPU memory that contains ADDRESS. A context must be current.
bool serve_find_range(uint64_t address, uint64_t *start, uint64_t *end);
uint64_t serve_handle_of(enum handle_kind kind, const void *object); // 0: none
// Returns true if the driver has that function; else notes NOT_SUPPORTED.
bool serve_require(struct serve *serve, const void *function);

#endif
