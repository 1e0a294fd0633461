// SPDX-License-Identifier: BSD-3-Clause
// Answers and logs system calls that the kernel refuses to workers (seccomp user notification).
#ifndef RGPU_DAEMON_REFUSALS_H
#define RGPU_DAEMON_REFUSALS_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

struct refusals;

// Called at most once, when a worker has made so many refused calls that an attack or a fault is
// likely.
typedef void refusals_too_many(void *argument, const char *reason);

// SOCKET is the supervisor's end of a socket pair, over which worker PID sends its filter's
// descriptor, or that descriptor itself; takes ownership. ONLY_LOG: calls are logged and allowed.
// MAY_CONNECT points to the descriptor of a directory, and connections of the worker go to the
// socket "control" there; NULL: it may not connect. Returns NULL if memory is exhausted.
struct refusals *refusals_new(struct event_base *base, int socket, pid_t pid, bool only_log,
                              const int *may_connect, refusals_too_many *too_many, void *argument);
// Returns the filter's descriptor, or -1 if there is none.
int refusals_filter(const struct refusals *refusals);
// Must be called when a session begins. From then on refused calls are logged as warnings, even if
// they were logged before.
void refusals_serving(struct refusals *refusals);
void refusals_free(struct refusals **refusals);

#endif
