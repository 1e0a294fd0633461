// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous by name: the process with member 0 publishes the id of a rendezvous, and the others
// look it up. With a ticket they use the boxes of the lease (rendezvous_boxes.h). Without one, or
// if RGPU_TEAM_DIR is set, they use a file (rendezvous_file.h). A name is unique in the lease or,
// for files, in the scope that rendezvous_file.h describes.
#ifndef RGPU_TEAM_RENDEZVOUS_NAME_H
#define RGPU_TEAM_RENDEZVOUS_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/putnotify/failure.h"

// A name that this process has published.
struct rendezvous_said;

// Publishes RENDEZVOUS under NAME until rendezvous_name_forget or the end of this process. Errors:
// INVALID (another team of that name is forming, or neither a box nor a file can be used), MEMORY.
enum rgpu_result rendezvous_name_publish(const char *name, const struct rgpu_rendezvous *rendezvous,
                                         struct rendezvous_said **said);
// Withdraws the name, frees *SAID and sets it to NULL. Does nothing if *SAID is NULL.
void rendezvous_name_forget(struct rendezvous_said **said);

// Looks up the rendezvous that was published under NAME, and sets *HEARD to true if there is one.
// This may take some seconds, until DEADLINE (nanoseconds of clock_ns) at most. Otherwise the
// caller calls again with TRIES increased by 1, from 0 on. The process of the rendezvous may be
// gone. INVALID: neither a box nor a file can be used.
enum rgpu_result rendezvous_name_find(const char *name, unsigned tries, uint64_t deadline,
                                      struct rgpu_rendezvous *rendezvous, bool *heard);

#endif
