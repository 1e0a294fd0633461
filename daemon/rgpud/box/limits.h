// SPDX-License-Identifier: BSD-3-Clause
// Limits on resources of the box other than GPUs, for each session, each lease and the whole box.
// The table in limits.c has a row for each resource.
#ifndef RGPU_DAEMON_LIMITS_H
#define RGPU_DAEMON_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum limited_resource {
    LIMITED_EXPORTS,
    LIMITED_EXPORT_FILES,
    LIMITED_RENDEZVOUS,
    LIMITED_WAITING,
    LIMITED_PEER_CALLS,
    LIMITED_RESOURCES
};
enum limit_level { LIMIT_OF_NONE, LIMIT_OF_SESSION, LIMIT_OF_LEASE, LIMIT_OF_BOX };

struct box_settings;
struct limits;
// Resources that a session has taken. Freed when all are returned, perhaps after the session's end.
struct limit_holder;

// SETTINGS must outlive the table; its content may change. Returns NULL if memory is exhausted.
struct limits *limits_new(const struct box_settings *settings);
void limits_free(struct limits **limits);
// Returns the limit of a resource at a level.
uint64_t limits_most(const struct limits *limits, enum limited_resource resource,
                     enum limit_level level);
const char *limits_level_name(enum limit_level level);

// Takes one unit of a resource and sets *HOLDER for limits_give(). Returns LIMIT_OF_NONE, or the
// level of the limit that refuses it; refusals are logged at a limited rate. SESSION is unique on
// the box. LEASE is "" for a session without a lease, which counts as a lease of its own.
enum limit_level limits_take(struct limits *limits, enum limited_resource resource,
                             uint64_t session, const char *lease, struct limit_holder **holder)
    __attribute__((warn_unused_result));
// Returns one unit and sets *HOLDER to NULL.
void limits_give(struct limits *limits, enum limited_resource resource,
                 struct limit_holder **holder);

// Writes used and maximum units as metrics.
void limits_put(FILE *out, const struct limits *limits);

#endif
