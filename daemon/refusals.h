// SPDX-License-Identifier: BSD-3-Clause
// System calls that workers were refused: the kernel asks, the supervisor answers and says so in the log.
#ifndef RGPU_DAEMON_REFUSALS_H
#define RGPU_DAEMON_REFUSALS_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

struct refusals;

// Called, at most once, when the worker makes refused calls faster than anything but an attack or a
// fault would.
typedef void refusals_too_many(void *argument, const char *reason);

// The supervisor's end of a socket pair (which is owned from here on) over which the worker PID sends
// its filter's descriptor. With ONLY_LOG calls are let through. MAY_CONNECT is the descriptor of a directory: whatever the
// worker connects to is the socket "control" there (NULL: it connects to nothing). NULL: no memory.
struct refusals *refusals_new(struct event_base *base, int socket, pid_t pid, bool only_log,
                              const int *may_connect, refusals_too_many *too_many, void *argument);
// A client has come: what is refused from now on is told as a warning, and told again.
void refusals_serving(struct refusals *refusals);
void refusals_free(struct refusals **refusals);

#endif
