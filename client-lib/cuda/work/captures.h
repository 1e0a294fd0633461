// SPDX-License-Identifier: BSD-3-Clause
// The running captures of streams, and the calls that they forbid to threads. The box captures
// without restrictions, because it does not know which thread of the program sends a request. Any
// thread may call.
#ifndef RGPU_CLIENT_CAPTURES_H
#define RGPU_CLIENT_CAPTURES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "client-lib/cuda/session/box_session.h"

extern _Atomic unsigned int captures_under_way;
static inline bool captures_any(void)
{
    return __builtin_expect(atomic_load_explicit(&captures_under_way, memory_order_relaxed) != 0,
                            0);
}

// Enters a capture before the request that begins it; capture_abandon removes it if that has
// failed. INTO_OWN: the work is captured into a graph that the program has made.
CUresult capture_enter(struct box_session *session, CUstream stream, CUstreamCaptureMode mode,
                       bool into_own);
bool capture_is_into_own(CUstream stream);
void capture_abandon(CUstream stream);
// Ends a capture. Returns the graph that the program has found by a query, which ends with a failed
// capture; 0: none.
uint64_t captures_end(CUstream stream);
// Notes that the program has found the graph of STREAM's capture.
void capture_note_found(CUstream stream, uint64_t graph);
uint64_t capture_found(CUstream stream);
// Returns true if streams are captured into that graph, which therefore cannot be destroyed.
bool captures_into(uint64_t graph);
// Returns an error unless this thread may end the capture of STREAM.
CUresult capture_may_end(CUstream stream);
// Returns true if the calling thread must not make an unsafe call, because streams are captured.
// The captures that forbid it become invalid.
bool capture_forbids(void);
// The same for a call that queries an event or a stream, or waits for it. ANSWER is the box's
// answer to that query: if it is an error, it is returned. CUDA_SUCCESS: the call is allowed.
CUresult capture_judge_question(CUresult answer);
// Queries the capture status of a stream of SESSION. Sends no request while nothing is captured
// there.
CUresult capture_status(struct box_session *session, CUstream stream,
                        CUstreamCaptureStatus *status);

#endif
