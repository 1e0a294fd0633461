// SPDX-License-Identifier: BSD-3-Clause
// One driver call, from its arguments to the request to the worker. The generated functions of
// client_calls.c and the hand-written ones take these steps, in this order:
//
//   call_begin -> call_handle, call_stream, call_device, call_mint -> call_reserve
//   -> fill in the arguments -> call_post (async) or call_wait (sync)
//
// The first failure is kept in `result`; the later steps then do nothing.
#ifndef RGPU_CLIENT_CALL_H
#define RGPU_CLIENT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/session/box_session.h"

struct call {
    CUresult result;
    uint16_t op;
    bool stale;                  // the thread's current context has been destroyed
    bool of_program;             // and not one of the library's own threads
    bool bound;                  // an argument has determined the session
    struct box_session *session; // of the current context, until a handle or device determines it
    struct object *context;      // NULL: none, or it belongs to another session
    bool streamed;               // the call names a stream:
    uint64_t stream;             // the value that is sent for it
    struct wire_request *record; // reserved; NULL before and after
};

void call_begin(struct call *call, uint16_t op);
void call_fail(struct call *call, CUresult result);
// Returns the value that is sent for a handle of the program.
uint64_t call_handle(struct call *call, enum handle_kind kind, const void *handle);
uint64_t call_stream(struct call *call, CUstream stream);
// Returns an error unless calls may use STREAM. Finds its session, and the value that is sent for
// it.
CUresult call_check_stream(CUstream stream, struct box_session **session, CUstream *resolved);
// Returns the box's number of a device, and makes its session that of the call.
int32_t call_device(struct call *call, CUdevice device);
// Makes a new handle of the call's session and context.
uint64_t call_mint(struct call *call, enum handle_kind kind);
CUresult call_unmint(struct call *call, uint64_t handle);

// Reserves SIZE bytes for arguments; NULL after a failure. Until call_post or call_wait no other
// thread can send on this session.
void *call_reserve(struct call *call, size_t size);
// Called before work that may touch memory is reserved, for STREAM (0: unknown).
CUresult call_work(const struct call *call, uint64_t stream);
CUresult call_post(struct call *call);
// Until calls_leave, requests that this thread posts need not be sent one by one: its flush sends
// them all.
void calls_gather(void);
void calls_leave(struct box_session *session);
CUresult call_wait(struct call *call, void *reply, size_t size);
CUresult call_wait_bytes(struct call *call, void *reply, size_t size, void *bytes, size_t room,
                         size_t *used);

void handle_retire(uint64_t handle);

#endif
