// SPDX-License-Identifier: BSD-3-Clause
// Sessions whose worker has ended without being asked to, until the broker has their report.
#ifndef RGPU_DAEMON_FAILED_SESSIONS_H
#define RGPU_DAEMON_FAILED_SESSIONS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { FAILED_SESSIONS_MAX = 16 }; // in one report; further ones are in the log only

struct failed_session {
    uint64_t id;
    char lease[128], reason[200];
};

struct failed_sessions {
    struct failed_session list[FAILED_SESSIONS_MAX];
    size_t count, reported; // all, and those in the pending report
};

void failed_sessions_add(struct failed_sessions *failed, uint64_t id, const char *lease,
                         const char *how, const char *why);
// Returns the sessions for a report: [{"session":, "lease":, "reason":}].
json_t *failed_sessions_report(struct failed_sessions *failed);
// Removes those of the last report, which the broker has.
void failed_sessions_reported(struct failed_sessions *failed);

#endif
