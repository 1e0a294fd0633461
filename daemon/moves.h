// SPDX-License-Identifier: BSD-3-Clause
// Leases that go to other GPUs of this box: who orders it, whether it can be, and what comes of it. The way there is a
// suspension that returns elsewhere (suspension_steps.c).
#ifndef RGPU_DAEMON_MOVES_H
#define RGPU_DAEMON_MOVES_H

#include <jansson.h>

#include "daemon/box.h"

struct suspension;

// An administrator has the lease NAME, or that of the session of that number, go to the GPU TO from the GPU FROM
// (empty: the only one that it has here): each a UUID, a number, or BOX:NUMBER. -errno with the reason in TEXT.
int moves_order(struct box *box, const char *name, const char *to, const char *from, char *text,
                size_t room) __attribute__((warn_unused_result));
// How far that is: {"lease":, "moving":, "reason":}.
json_t *moves_show(const struct box *box, const char *name);
// The broker's whole list of places that are not where their tickets say; NULL: it says nothing of that.
void moves_adopt(struct box *box, const json_t *list);
// What has come of them, for the broker.
json_t *moves_report(struct box *box);
// Begins those that are due.
void moves_review(struct box *box);

// ---- for the steps ----

// Why the sessions could not come to where they are to be; NULL: they could, as far as is known. NEEDED is what they
// take of each device now.
const char *moves_obstacle(const struct suspension *s, const uint64_t needed[BOX_DEVICES_MAX],
                           char *text, size_t room);
// "PID", with the GPUs that change behind it, for rgpu-suspender; heap. The worker is on its way then.
char *moves_argument(struct worker_process *worker);
// It has arrived.
void moves_arrived(struct worker_process *worker);
// The sessions stay where they are. False: they were not to go anywhere.
bool moves_give_up(struct suspension *s, const char *why);

#endif
