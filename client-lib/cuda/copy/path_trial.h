// SPDX-License-Identifier: BSD-3-Clause
// Chooses the path of a copy, and measures how long copies take. It sends nothing for that: it
// times rows of copies of one kind and size without other requests between them, from the beginning
// of the first copy to the end of the call that waits for them.
//
// All data belong to the calling thread. A copy without a choice costs a few instructions; one with
// a settled choice reads the clock from time to time.
#ifndef RGPU_CLIENT_PATH_TRIAL_H
#define RGPU_CLIENT_PATH_TRIAL_H

#include "client-lib/cuda/session/box_session.h"
#include "common/base/path_table.h"

// A copy that is about to be requested.
struct path_wish {
    CUstream stream; // resolved by copy_begin
    enum path_use use;
    size_t size;
    bool brings;     // from the GPU, and the call returns when the data have arrived
    unsigned usable; // PATH_BITs of the possible paths
    enum path usual; // the path without measurements
};
enum path path_begin(struct box_session *session, const struct path_wish *wish);
// The copy has been requested, or has failed. COMPLETE: it is done, as is all earlier work of the
// stream.
void path_asked(struct box_session *session, bool complete);

// The thread is about to wait for all work of STREAM, or with ALL of all streams; then, it has done
// so.
void path_wait_begins(CUstream stream, bool all);
void path_wait_ended(bool well);

#endif
