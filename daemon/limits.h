// SPDX-License-Identifier: BSD-3-Clause
// What clients can take of the box beside GPUs, bounded for a session, a lease and the whole box. A resource is a row of the
// table in limits.c.
#ifndef RGPU_DAEMON_LIMITS_H
#define RGPU_DAEMON_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum limited_resource { LIMITED_EXPORTS, LIMITED_EXPORT_FILES, LIMITED_RESOURCES };
enum limit_level { LIMIT_OF_NONE, LIMIT_OF_SESSION, LIMIT_OF_LEASE, LIMIT_OF_BOX };

struct limits;
// What a session has taken; it lasts until all of it is given back, also after the end of the session.
struct limit_holder;

// Computes the limits of this process. NULL: no memory.
struct limits *limits_new(void);
void limits_free(struct limits **limits);
uint64_t limits_most(const struct limits *limits, enum limited_resource resource,
                     enum limit_level level);
const char *limits_level_name(enum limit_level level);

// Takes one for the session; *holder is then what gives it back. A refusal is in the log, now and then, and its level
// is returned. LEASE is empty for a session without one, which is then a lease of its own.
enum limit_level limits_take(struct limits *limits, enum limited_resource resource,
                             uint64_t session, const char *lease, struct limit_holder **holder)
    __attribute__((warn_unused_result));
void limits_give(struct limits *limits, enum limited_resource resource,
                 struct limit_holder **holder);

// Writes the table as metrics.
void limits_put(FILE *out, const struct limits *limits);

#endif
