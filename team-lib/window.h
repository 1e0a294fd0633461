// SPDX-License-Identifier: BSD-3-Clause
// Windows: memory of all members, and the signals that belong to it.
#ifndef RGPU_TEAM_WINDOW_H
#define RGPU_TEAM_WINDOW_H

#include "team-lib/team_parts.h"

// As rgpu_window_register, under the team's lock.
enum rgpu_result window_make(struct rgpu_team *team, const CUdeviceptr *bases, const size_t *sizes,
                             int tags, struct rgpu_window **window);
// Memory of other processes is let go.
void window_close(struct rgpu_window *window);
// Takes it out of its team, and frees it. Nothing uses it any more.
void window_end_of_life(struct rgpu_window *window);
// Whether LOCAL is a member of this process, and OTHER one of the team.
enum rgpu_result window_check_pair(const struct rgpu_window *window, const char *what, int local,
                                   int other);
// Whether the member RANK has such a place in its window.
enum rgpu_result window_check_place(const struct rgpu_window *window, int rank, size_t offset,
                                    size_t bytes);

#endif
