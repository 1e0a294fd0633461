// SPDX-License-Identifier: BSD-3-Clause
// One driver call on its way to the worker. The generated functions of client_calls.c and the
// hand-written ones go through these steps, in this order:
//
//     call_begin -> call_handle, call_stream, call_device, call_mint -> call_reserve
//         -> fill in the arguments -> call_post (async) or call_wait (sync)
//
// The first failure is kept in `result`; the later steps then do nothing.
#ifndef RGPU_CLIENT_CALL_H
#define RGPU_CLIENT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/objects/object.h"
#include "client-lib/session/box_session.h"

struct call {
    CUresult result;
    uint16_t op;
    bool stale;                  // the thread's current context has been destroyed
    bool of_program;             // and not one of the library's own threads
    bool bound;                  // an argument has said which session it is
    struct box_session *session; // of the current context until a handle or device says otherwise
    struct object *context;      // NULL: none, or none in that session
    bool streamed;               // a stream is named:
    uint64_t stream;             // as it travels
    struct wire_request *record; // reserved; NULL before and after
};

void call_begin(struct call *call, uint16_t op);
void call_fail(struct call *call, CUresult result);
// What travels for a handle of the program.
uint64_t call_handle(struct call *call, enum handle_kind kind, const void *handle);
uint64_t call_stream(struct call *call, CUstream stream);
// Whether STREAM is one that calls take now, its session, and what travels for it.
CUresult call_check_stream(CUstream stream, struct box_session **session, CUstream *resolved);
// The box's number of a device; makes its session that of the call.
int32_t call_device(struct call *call, CUdevice device);
// A new handle of the call's session and context.
uint64_t call_mint(struct call *call, enum handle_kind kind);
CUresult call_unmint(struct call *call, uint64_t handle);

// Room for SIZE bytes of arguments; NULL after a failure. Until call_post or call_wait
// no other thread can send on this session.
void *call_reserve(struct call *call, size_t size);
// Work that may touch memory is about to be reserved, for STREAM (0: which one is not known).
CUresult call_work(const struct call *call, uint64_t stream);
CUresult call_post(struct call *call);
// What this thread posts from here on leaves with the flush that calls_leave is: where one flush follows many, nobody
// has to see to it that they leave by themselves.
void calls_gather(void);
void calls_leave(struct box_session *session);
CUresult call_wait(struct call *call, void *reply, size_t size);
CUresult call_wait_bytes(struct call *call, void *reply, size_t size, void *bytes, size_t room,
                         size_t *used);

void handle_retire(uint64_t handle);

#endif
