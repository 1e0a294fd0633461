// SPDX-License-Identifier: BSD-3-Clause
// Windows: memory of all members, and its signals. The caller of all functions holds the team's
// lock.
#ifndef RGPU_TEAM_WINDOW_H
#define RGPU_TEAM_WINDOW_H

#include "client-lib/putnotify/team_parts.h"

// Does the work of rgpu_window_register.
enum rgpu_result window_make(struct rgpu_team *team, const CUdeviceptr *bases, const size_t *sizes,
                             int tags, struct rgpu_window **window);
// Unmaps the memory of other processes' members.
void window_close(struct rgpu_window *window);
// Removes the window from its team, and frees it. No stream and no kernel may use it.
void window_end_of_life(struct rgpu_window *window);
// Returns an error unless LOCAL is a member of this process and OTHER is a member of the team. WHAT
// names the public function in the message.
enum rgpu_result window_check_pair(const struct rgpu_window *window, const char *what, int local,
                                   int other);
// Returns an error unless the member RANK has BYTES at OFFSET in its window.
enum rgpu_result window_check_place(const struct rgpu_window *window, int rank, size_t offset,
                                    size_t bytes);

#endif
