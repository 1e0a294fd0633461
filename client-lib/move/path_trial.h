// SPDX-License-Identifier: BSD-3-Clause
// Choosing the path of a copy, and finding out how long copies take, by nothing but what the program does anyway: copies
// of one kind and size that follow each other, with nothing else asked of the box between them, from the beginning of
// the first one to the end of the call that waits for them.
//
// All of it belongs to the calling thread. A copy without a choice costs a few instructions, one with a choice that is
// settled a look at the clock now and then.
#ifndef RGPU_CLIENT_PATH_TRIAL_H
#define RGPU_CLIENT_PATH_TRIAL_H

#include "client-lib/session/box_session.h"
#include "common/path_table.h"

// A copy is about to be asked for.
struct path_wish {
    CUstream stream; // as copies have it
    enum path_use use;
    size_t size;
    bool brings;     // from the GPU, and the call returns when the data is there
    unsigned usable; // PATH_BITs of what can bring it
    enum path usual; // where nothing has been measured
};
enum path path_begin(struct box_session *session, const struct path_wish *wish);
// It has been asked for, or has not come about. COMPLETE: it is over, and what the stream had to do before as well.
void path_asked(struct box_session *session, bool complete);

// The thread is about to wait for all that STREAM was given, or with ALL for all streams; and has done so.
void path_wait_begins(CUstream stream, bool all);
void path_wait_ended(bool well);

#endif
