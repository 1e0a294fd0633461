// SPDX-License-Identifier: BSD-3-Clause
// Limits on resources of the box other than GPUs, for each session, each lease and the whole box.
// The table in limits.c has a row for each resource.
#ifndef RGPU_DAEMON_LIMITS_H
#define RGPU_DAEMON_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// The resources, with the unit of each.
enum limited_resource {
    LIMITED_EXPORTS,      // GPU memory or events that a session shares with other processes
    LIMITED_EXPORT_FILES, // descriptors that rgpud keeps open for such memory
    LIMITED_RENDEZVOUS,   // processes that look for others of their lease
    LIMITED_WAITING,      // clients that wait in the queue
    LIMITED_PEER_CALLS,   // calls to other boxes or workers, each with its own thread
    LIMITED_RESOURCES     // number of resources
};
// The level whose limit is reached.
enum limit_level { LIMIT_OF_NONE, LIMIT_OF_SESSION, LIMIT_OF_LEASE, LIMIT_OF_BOX };

struct box_settings;
struct limits;
// The units that one session has taken. `struct limits` owns the holder, and frees it when all of
// its units have been returned, possibly after the session's end.
struct limit_holder;

// Returns a table without taken units, which the caller frees; NULL if memory is exhausted. The
// table reads SETTINGS at each call, so these must outlive it, and may change.
struct limits *limits_new(const struct box_settings *settings);
void limits_free(struct limits **limits);
// Returns the limit of a resource at a level, in units, at least 1.
uint64_t limits_most(const struct limits *limits, enum limited_resource resource,
                     enum limit_level level);
// Returns "none", "session", "lease" or "box".
const char *limits_level_name(enum limit_level level);

// Takes one unit of a resource for a session. Returns LIMIT_OF_NONE and sets *HOLDER, which the
// caller passes to limits_give. If a limit is reached, logs that at a limited rate and returns the
// level of the limit. SESSION is the session's number, unique on the box. LEASE is the id of its
// lease, or "": then the session counts as a lease of its own.
enum limit_level limits_take(struct limits *limits, enum limited_resource resource,
                             uint64_t session, const char *lease, struct limit_holder **holder)
    __attribute__((warn_unused_result));
// Gives one unit of a resource back to the limits and sets *HOLDER to NULL.
void limits_give(struct limits *limits, enum limited_resource resource,
                 struct limit_holder **holder);

// Writes Prometheus metrics to OUT: for each resource the units taken on the box, the limit of the
// box, and the number of refusals at each level.
void limits_put(FILE *out, const struct limits *limits);

#endif
