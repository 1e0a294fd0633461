// SPDX-License-Identifier: BSD-3-Clause
// Puts, signals and waits, which these functions queue in a stream. FROM, TO and AT are members.
// The caller holds the team's lock, has checked ranks, tags and ranges, and has made a context of
// the local member current.
#ifndef RGPU_TEAM_PUT_H
#define RGPU_TEAM_PUT_H

#include "client-lib/putnotify/team_parts.h"

// Returns an error unless STREAM belongs to the context of the member RANK and can take puts and
// waits: a stream under capture cannot.
enum rgpu_result put_check_stream(const struct rgpu_team *team, int rank, CUstream stream);
// Copies BYTES from SOURCE to OFFSET of the target's window, and then counts up the signal TAG
// there. If TAG is RGPU_NO_SIGNAL, sends none, and only notes that the stream has pending work of
// the window.
enum rgpu_result put_signal(struct rgpu_window *window, int from, int to, size_t offset,
                            CUdeviceptr source, size_t bytes, int tag, CUstream stream);
// Waits for COUNT further signals TAG.
enum rgpu_result put_wait(struct rgpu_window *window, int at, int from, int tag, int count,
                          CUstream stream);

#endif
