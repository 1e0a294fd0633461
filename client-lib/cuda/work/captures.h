// SPDX-License-Identifier: BSD-3-Clause
// The running captures of streams, and the calls that they forbid to threads. This process enforces
// the capture modes. The box captures without restrictions, because it does not know which thread
// of the program sends a request. Any thread may call.
#ifndef RGPU_CLIENT_CAPTURES_H
#define RGPU_CLIENT_CAPTURES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "client-lib/cuda/session/box_session.h"

// Number of running captures of this process.
extern _Atomic unsigned int captures_under_way;
static inline bool captures_any(void)
{
    return __builtin_expect(atomic_load_explicit(&captures_under_way, memory_order_relaxed) != 0,
                            0);
}

// Registers a capture of STREAM by the calling thread. Called before the request that begins the
// capture; capture_abandon removes the capture if that request fails. INTO_OWN: the work is
// captured into a graph that the program has created (cuStreamBeginCaptureToGraph).
CUresult capture_enter(struct box_session *session, CUstream stream, CUstreamCaptureMode mode,
                       bool into_own);
// Returns true if STREAM is captured with INTO_OWN.
bool capture_is_into_own(CUstream stream);
void capture_abandon(CUstream stream);
// Removes the capture of STREAM. Returns the handle of its graph if the program has got that handle
// by a query, else 0. If the capture failed, the caller ends that handle.
uint64_t captures_end(CUstream stream);
// Stores the handle of the graph of STREAM's capture after the program has got that handle by a
// query.
void capture_note_found(CUstream stream, uint64_t graph);
// Returns the handle that capture_note_found stored; 0 if there is none.
uint64_t capture_found(CUstream stream);
// Returns true if streams are captured into GRAPH, which therefore cannot be destroyed.
bool captures_into(uint64_t graph);
// Returns CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD if the calling thread may not end the capture of
// STREAM.
CUresult capture_may_end(CUstream stream);
// Returns true if running captures forbid the calling thread an unsafe call. Invalidates these
// captures, as the driver does.
bool capture_forbids(void);
// The same for a call that queries an event or a stream, or waits for it. ANSWER is the box's
// result for that event or stream. Returns ANSWER if it is an error of captures,
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED if captures forbid the call, else CUDA_SUCCESS.
CUresult capture_judge_question(CUresult answer);
// Queries the capture status of STREAM of SESSION. Sends no request if no stream of SESSION is
// captured.
CUresult capture_status(struct box_session *session, CUstream stream,
                        CUstreamCaptureStatus *status);

#endif
