// SPDX-License-Identifier: BSD-3-Clause
// A name by which processes meet: a file with the id of the rendezvous, which only the user's own
// processes can read. It is in RGPU_TEAM_DIR, or /tmp. Its name is made of the name of the
// rendezvous and of the lease, the job or the boxes.
#ifndef RGPU_TEAM_RENDEZVOUS_FILE_H
#define RGPU_TEAM_RENDEZVOUS_FILE_H

#include <stdbool.h>

#include "client-lib/putnotify/failure.h"

struct rendezvous_file {
    char path[512];
    int fd; // open and locked as long as the file announces a rendezvous
};

// INVALID: another process has published there, or the file cannot be written or belongs to another
// user.
enum rgpu_result rendezvous_file_publish(const char *name, const struct rgpu_rendezvous *rendezvous,
                                         struct rendezvous_file *file);
void rendezvous_file_forget(struct rendezvous_file *file);
// Never waits. INVALID: the name is too long.
enum rgpu_result rendezvous_file_find(const char *name, struct rgpu_rendezvous *rendezvous,
                                      bool *heard);

#endif
