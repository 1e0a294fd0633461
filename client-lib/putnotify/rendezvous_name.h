// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous by name: the process with member 0 publishes the id of a rendezvous, and the others
// look it up. With a ticket they do so at the boxes of the lease, and the name belongs to the
// lease. Without one, or if RGPU_TEAM_DIR is set, they use a file, and the name belongs to the
// lease, the job, or the boxes.
#ifndef RGPU_TEAM_RENDEZVOUS_NAME_H
#define RGPU_TEAM_RENDEZVOUS_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/putnotify/failure.h"

struct rendezvous_said;

// Publishes RENDEZVOUS under NAME, until it is forgotten or this process ends. INVALID: another
// team of that name is forming, or there is nowhere to publish.
enum rgpu_result rendezvous_name_publish(const char *name, const struct rgpu_rendezvous *rendezvous,
                                         struct rendezvous_said **said);
void rendezvous_name_forget(struct rendezvous_said **said);

// Looks up the rendezvous that was published under NAME. This may take some seconds, until DEADLINE
// at most. Without *HEARD the caller tries again, and counts these tries. The result may be of a
// process that is gone. INVALID: there is nowhere to look it up.
enum rgpu_result rendezvous_name_find(const char *name, unsigned tries, uint64_t deadline,
                                      struct rgpu_rendezvous *rendezvous, bool *heard);

#endif
