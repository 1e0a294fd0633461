// SPDX-License-Identifier: BSD-3-Clause
// What a worker and its driver write to standard output and error, on its way into our log.
#ifndef RGPU_DAEMON_WORKER_OUTPUT_H
#define RGPU_DAEMON_WORKER_OUTPUT_H

#include <event2/event.h>
#include <sys/types.h>

struct worker_output;

typedef void worker_output_floods(void *argument, const char *reason);

// Reads the pipe FD, which is owned from here on. FLOODS is called, once, when there is no end of it.
// NULL: no memory.
struct worker_output *worker_output_new(struct event_base *base, int fd, pid_t pid,
                                        worker_output_floods *floods, void *argument);
// Its last words, after its end.
void worker_output_finish(struct worker_output *output);
void worker_output_free(struct worker_output **output);

#endif
