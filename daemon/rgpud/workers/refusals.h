// SPDX-License-Identifier: BSD-3-Clause
// Answers system calls that the kernel refuses to workers, and logs them.
#ifndef RGPU_DAEMON_REFUSALS_H
#define RGPU_DAEMON_REFUSALS_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

struct refusals;

// Called at most once, if the worker makes so many refused calls that an attack or a fault is
// likely.
typedef void refusals_too_many(void *argument, const char *reason);

// Takes ownership of the supervisor's end of a socket pair, over which the worker PID sends its
// filter's descriptor. If ONLY_LOG is set, calls are logged and allowed. MAY_CONNECT points to the
// descriptor of a directory; all connections of the worker go to the socket "control" in it (NULL:
// it may not connect). Returns NULL if memory is out.
struct refusals *refusals_new(struct event_base *base, int socket, pid_t pid, bool only_log,
                              const int *may_connect, refusals_too_many *too_many, void *argument);
// Marks the start of a session. Calls that are refused afterwards are logged as warnings, including
// calls that were logged before.
void refusals_serving(struct refusals *refusals);
void refusals_free(struct refusals **refusals);

#endif
