// SPDX-License-Identifier: BSD-3-Clause
// A name by which processes meet: a file with the id of the meeting, which only the user's own
// processes can read. It is in RGPU_TEAM_DIR, or /tmp. Its name is made of the meeting's name and
// of the lease, the job or the boxes.
#ifndef RGPU_TEAM_MEETING_FILE_H
#define RGPU_TEAM_MEETING_FILE_H

#include <stdbool.h>

#include "client-lib/putnotify/failure.h"

struct meeting_file {
    char path[512];
    int fd; // open and locked as long as the file announces a meeting
};

// INVALID: another process is meeting there, or the file cannot be written or belongs to another
// user.
enum rgpu_result meeting_file_say(const char *name, const struct rgpu_meeting *meeting,
                                  struct meeting_file *file);
void meeting_file_forget(struct meeting_file *file);
// Never waits. INVALID: the name is too long.
enum rgpu_result meeting_file_hear(const char *name, struct rgpu_meeting *meeting, bool *heard);

#endif
