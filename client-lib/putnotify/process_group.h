// SPDX-License-Identifier: BSD-3-Clause
// The processes of a team. Each is connected to the one that leads, and data between them pass
// through that one: they are small, and no put waits for them. The end of a process is detected by
// the end of its connection.
#ifndef RGPU_TEAM_PROCESS_GROUP_H
#define RGPU_TEAM_PROCESS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/putnotify/failure.h"
#include "client-lib/putnotify/rendezvous_id.h"

struct process_group;

// Meets all processes of a team of SIZE members until DEADLINE. This process has COUNT members from
// FIRST on. INVALID: another process has one of these members, has another SIZE, or belongs to
// another team of that name. LOST: not all processes came in time.
enum rgpu_result process_group_rendezvous(const char *name, int size, int first, int count,
                                          uint64_t deadline, struct process_group **process_group);
// The same at a place that all of them know. The process that has a LISTENER there leads; the
// others pass -1. LOST: also if the leader is gone.
enum rgpu_result process_group_rendezvous_at(const struct rendezvous_place *place, int listener,
                                             int size, int first, int count, uint64_t deadline,
                                             struct process_group **process_group);
// Exchanges EACH bytes per member. OWN has those of this process's members, ALL becomes those of
// all members. Returns when all processes have called it. LOST: a process is gone, or reports that
// the team is lost.
enum rgpu_result process_group_exchange(struct process_group *process_group, const void *own,
                                        void *all, size_t each);
// Returns LOST if a process is known to be gone. Never blocks.
enum rgpu_result process_group_stands(struct process_group *process_group);
// Reports to the other processes that the team is lost.
void process_group_lose(struct process_group *process_group, const char *why);
void process_group_leave(struct process_group **process_group);

#endif
