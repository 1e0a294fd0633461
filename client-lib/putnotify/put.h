// SPDX-License-Identifier: BSD-3-Clause
// Puts, signals and waits. The caller holds the team's lock, and has checked ranks, tags and
// ranges.
#ifndef RGPU_TEAM_PUT_H
#define RGPU_TEAM_PUT_H

#include "client-lib/putnotify/team_parts.h"

// A context of the member RANK is current in all of these functions. Returns an error unless the
// stream belongs to the member and can take puts and waits.
enum rgpu_result put_check_stream(const struct rgpu_team *team, int rank, CUstream stream);
// Copies the data, without a signal.
enum rgpu_result put_data(const struct rgpu_window *window, int from, int to, size_t offset,
                          CUdeviceptr source, size_t bytes, CUstream stream);
// Sends the signal. With RGPU_NO_SIGNAL as TAG it only notes that work is under way.
enum rgpu_result put_signal(struct rgpu_window *window, int from, int to, int tag, CUstream stream);
enum rgpu_result put_wait(struct rgpu_window *window, int at, int from, int tag, int count,
                          CUstream stream);

#endif
