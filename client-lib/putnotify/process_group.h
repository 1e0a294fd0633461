// SPDX-License-Identifier: BSD-3-Clause
// The processes of a team. One of them leads, and the others are connected to it. All data that
// the processes exchange pass through the leader; they are small, and no put waits for them. The
// end of a process is detected by the end of its connection.
#ifndef RGPU_TEAM_PROCESS_GROUP_H
#define RGPU_TEAM_PROCESS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/putnotify/failure.h"
#include "client-lib/putnotify/rendezvous_id.h"

struct process_group;

// Waits until DEADLINE, in nanoseconds of clock_ns, for all processes of a team of SIZE members.
// This process has COUNT members from FIRST on; the process with member 0 leads. The caller ends
// *PROCESS_GROUP by process_group_leave. Errors: INVALID (another team of that name is forming, or
// there is nowhere to publish or look up the name), LOST (not all processes came in time, or the
// leader refused this one, because another process has one of its members or its SIZE differs),
// MEMORY.
enum rgpu_result process_group_rendezvous(const char *name, int size, int first, int count,
                                          uint64_t deadline, struct process_group **process_group);
// Does the same at a rendezvous that all processes know. The process that listens there passes its
// LISTENER, which it continues to own, and leads; the others pass -1. LOST also if the leader is
// gone.
enum rgpu_result process_group_rendezvous_at(const struct rendezvous_place *place, int listener,
                                             int size, int first, int count, uint64_t deadline,
                                             struct process_group **process_group);
// Exchanges EACH bytes per member: OWN has the bytes of this process's members, and ALL receives
// the bytes of all members of the team. Returns when all processes have called it, without a time
// limit. Returns LOST if a process is gone or reports that the team is lost.
enum rgpu_result process_group_exchange(struct process_group *process_group, const void *own,
                                        void *all, size_t each);
// Returns LOST if a connection shows that a process is gone or reports the loss, without waiting.
enum rgpu_result process_group_stands(struct process_group *process_group);
// Reports to the other processes that the team is lost. WHY becomes their error text.
void process_group_lose(struct process_group *process_group, const char *why);
// Closes the connections, frees *PROCESS_GROUP and sets it to NULL.
void process_group_leave(struct process_group **process_group);

#endif
