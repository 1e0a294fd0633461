// SPDX-License-Identifier: BSD-3-Clause
// A name that processes meet by, as a file with the id of the meeting, which only the user's own processes can read. It is in
// RGPU_TEAM_DIR, or /tmp; its name is made of that and of the lease, the job or the boxes.
#ifndef RGPU_TEAM_MEETING_FILE_H
#define RGPU_TEAM_MEETING_FILE_H

#include <stdbool.h>

#include "team-lib/failure.h"

struct meeting_file {
    char path[512];
    int fd; // open, and locked, for as long as the file stands for a meeting
};

// INVALID: another process is there, or the file cannot be written or is somebody else's.
enum rgpu_result meeting_file_say(const char *name, const struct rgpu_meeting *meeting,
                                  struct meeting_file *file);
void meeting_file_forget(struct meeting_file *file);
// Never waits. INVALID: there is no such name.
enum rgpu_result meeting_file_hear(const char *name, struct rgpu_meeting *meeting, bool *heard);

#endif
