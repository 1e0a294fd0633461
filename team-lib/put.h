// SPDX-License-Identifier: BSD-3-Clause
// Puts, signals and waits, under the team's lock; ranks, tags and places have been checked.
#ifndef RGPU_TEAM_PUT_H
#define RGPU_TEAM_PUT_H

#include "team-lib/team_parts.h"

// A context of the member RANK is current, in all of these. Whether a stream is the member's and takes puts and waits.
enum rgpu_result put_check_stream(const struct rgpu_team *team, int rank, CUstream stream);
// The data only.
enum rgpu_result put_data(const struct rgpu_window *window, int from, int to, size_t offset,
                          CUdeviceptr source, size_t bytes, CUstream stream);
// TAG: RGPU_NO_SIGNAL only notes that something is under way.
enum rgpu_result put_signal(struct rgpu_window *window, int from, int to, int tag, CUstream stream);
enum rgpu_result put_wait(struct rgpu_window *window, int at, int from, int tag, int count,
                          CUstream stream);

#endif
