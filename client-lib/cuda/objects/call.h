// SPDX-License-Identifier: BSD-3-Clause
// One driver call, from its arguments to the request to the worker. The generated functions of
// client_calls.c and the hand-written ones take these steps, in this order:
//
//   call_begin -> call_handle, call_stream, call_device, call_mint -> call_reserve
//   -> fill in the arguments -> call_post (async) or call_wait (sync)
//
// `result` keeps the first failure; the later steps then do nothing. One thread uses a struct call,
// on its stack.
#ifndef RGPU_CLIENT_CALL_H
#define RGPU_CLIENT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/session/box_session.h"

struct call {
    CUresult result;
    uint16_t op;                 // enum cuda_op
    bool stale;                  // the thread's current context has been destroyed
    bool of_program;             // a thread of the program calls, not a thread of the library
    bool bound;                  // an argument has determined the session
    struct box_session *session; // of the current context, until a handle or device determines it
    struct object *context;      // NULL: none, or it belongs to another session
    bool streamed;               // the call names a stream
    uint64_t stream;             // the value that the request carries for that stream
    struct wire_request *record; // the reserved request, else NULL
};

// Initialises CALL with the current context and its session.
void call_begin(struct call *call, uint16_t op);
// Stores RESULT as the call's failure, unless the call has failed already.
void call_fail(struct call *call, CUresult result);
// Return the value that the request carries for a handle, or for a stream, of the program. The
// handle determines the session of the call.
uint64_t call_handle(struct call *call, enum handle_kind kind, const void *handle);
uint64_t call_stream(struct call *call, CUstream stream);
// Returns an error if calls may not use STREAM. Else sets its *SESSION, and *RESOLVED to the value
// that requests carry for it.
CUresult call_check_stream(CUstream stream, struct box_session **session, CUstream *resolved);
// Returns the box's number of a device of the program, and makes its session that of the call.
int32_t call_device(struct call *call, CUdevice device);
// Creates a handle of KIND in the call's session and context. If the call then fails, the caller
// passes the handle to call_unmint.
uint64_t call_mint(struct call *call, enum handle_kind kind);
// Ends the handle (0: none) of a failed call, and returns the call's result.
CUresult call_unmint(struct call *call, uint64_t handle);

// Reserves a request with SIZE bytes of arguments, and returns the address of the arguments; NULL
// after a failure. Until call_post or call_wait no other thread can send on this session.
void *call_reserve(struct call *call, size_t size);
// Runs the hooks for work that may access memory (before_work.h), for STREAM (0: unknown). Called
// before call_reserve.
CUresult call_work(const struct call *call, uint64_t stream);
// Sends the request without waiting for an answer. Returns the error of the context if that has
// failed. If the box may refuse the request, waits for its answer, as call_wait does.
CUresult call_post(struct call *call);
// Collects the requests that this thread posts; calls_leave sends them all.
void calls_gather(void);
void calls_leave(struct box_session *session);
// Sends the request and waits for the reply of SIZE bytes, which goes to REPLY. Returns its result.
CUresult call_wait(struct call *call, void *reply, size_t size);
// The same for a reply that *USED bytes follow, at most ROOM, which go to BYTES.
CUresult call_wait_bytes(struct call *call, void *reply, size_t size, void *bytes, size_t room,
                         size_t *used);

// Ends a handle of any kind, as object_retire does.
void handle_retire(uint64_t handle);

#endif
