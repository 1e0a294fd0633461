// SPDX-License-Identifier: BSD-3-Clause
// The processes of a team, connected with one of them that leads. What they tell each other goes by way of that one;
// it is little, and nothing of it is on the way of a put. A process that ends is noticed by its connection's end.
#ifndef RGPU_TEAM_COMPANY_H
#define RGPU_TEAM_COMPANY_H

#include <stdbool.h>
#include <stdint.h>

#include "team-lib/failure.h"
#include "team-lib/meeting_id.h"

struct company;

// Meets all processes of a team of SIZE members, of which this one has COUNT from FIRST on, until DEADLINE.
// INVALID: another process has one of these members, or another idea of the size, or is another team of that name.
// LOST: not all came in time.
enum rgpu_result company_meet(const char *name, int size, int first, int count, uint64_t deadline,
                              struct company **company);
// The same at a place that all of them know, where the process leads that has the LISTENER there (else -1).
// LOST: also if that process is gone.
enum rgpu_result company_meet_at(const struct meeting_place *place, int listener, int size,
                                 int first, int count, uint64_t deadline, struct company **company);
// Every member has EACH bytes: OWN are those of this process's, ALL becomes everybody's. Returns when all have called it.
// LOST: one of them is gone, or says that the team is lost.
enum rgpu_result company_exchange(struct company *company, const void *own, void *all, size_t each);
// Whether nobody is gone, so far as is known; else LOST. Never blocks.
enum rgpu_result company_stands(struct company *company);
// Tells the others that the team is lost.
void company_lose(struct company *company, const char *why);
void company_leave(struct company **company);

#endif
