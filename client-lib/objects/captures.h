// SPDX-License-Identifier: BSD-3-Clause
// The captures of streams that are under way, and what they forbid to threads. The box captures with no
// restrictions: it does not know which thread of the program a request comes from. Any thread may call.
#ifndef RGPU_CLIENT_CAPTURES_H
#define RGPU_CLIENT_CAPTURES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "client-lib/session/box_session.h"

extern _Atomic unsigned int captures_under_way;
static inline bool captures_any(void)
{
    return __builtin_expect(atomic_load_explicit(&captures_under_way, memory_order_relaxed) != 0,
                            0);
}

// Enters a capture, before the request that begins it; capture_abandon: which has failed. INTO_OWN: what is captured
// becomes part of a graph that the program has made.
CUresult capture_enter(struct box_session *session, CUstream stream, CUstreamCaptureMode mode,
                       bool into_own);
bool capture_is_into_own(CUstream stream);
void capture_abandon(CUstream stream);
// It is over. The graph that was found by it, which ends with a capture that fails; 0: none.
uint64_t captures_end(CUstream stream);
// The program has found the graph that STREAM is captured into.
void capture_note_found(CUstream stream, uint64_t graph);
uint64_t capture_found(CUstream stream);
// Whether streams are captured into that graph, which therefore cannot be destroyed.
bool captures_into(uint64_t graph);
// Whether this thread may end the capture of STREAM.
CUresult capture_may_end(CUstream stream);
// Whether the calling thread may not make a call that is unsafe while streams are captured; then those captures
// that forbid it are invalid from now on.
bool capture_forbids(void);
// The same of a call that asks an event or a stream, or waits for it: ANSWER is what the box says of that, and
// comes first. CUDA_SUCCESS: it is allowed.
CUresult capture_judge_question(CUresult answer);
// Of a stream of SESSION, as the box has it; without a request while nothing is captured there.
CUresult capture_status(struct box_session *session, CUstream stream,
                        CUstreamCaptureStatus *status);

#endif
