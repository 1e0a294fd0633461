// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous by name through a file that contains the id of the rendezvous (rendezvous_id.h). Only
// processes of the same user can read the file. It is in the directory RGPU_TEAM_DIR, or in /tmp.
// Its name is a digest of the rendezvous' name and of the scope: the lease, or without one the
// Slurm job, or without one the value of RGPU_BOXES.
#ifndef RGPU_TEAM_RENDEZVOUS_FILE_H
#define RGPU_TEAM_RENDEZVOUS_FILE_H

#include <stdbool.h>

#include "client-lib/putnotify/failure.h"

// The file of the process that has published.
struct rendezvous_file {
    char path[512];
    int fd; // open and locked until rendezvous_file_forget
};

// Creates the file and fills in FILE. INVALID: another process has published this name, or the file
// cannot be written, or it belongs to another user.
enum rgpu_result rendezvous_file_publish(const char *name, const struct rgpu_rendezvous *rendezvous,
                                         struct rendezvous_file *file);
// Removes and closes the file.
void rendezvous_file_forget(struct rendezvous_file *file);
// Sets *HEARD to true and *RENDEZVOUS to the file's id if there is a complete file, without waiting
// for one. INVALID: the name is too long.
enum rgpu_result rendezvous_file_find(const char *name, struct rgpu_rendezvous *rendezvous,
                                      bool *heard);

#endif
