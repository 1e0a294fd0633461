// SPDX-License-Identifier: BSD-3-Clause
// Copies standard output and error of a worker to rgpud's log.
#ifndef RGPU_DAEMON_WORKER_OUTPUT_H
#define RGPU_DAEMON_WORKER_OUTPUT_H

#include <event2/event.h>
#include <sys/types.h>

struct worker_output;

typedef void worker_output_floods(void *argument, const char *reason);

// Reads the pipe FD and takes ownership of it. Calls FLOODS once if the worker writes far too much.
// Returns NULL if memory is exhausted.
struct worker_output *worker_output_new(struct event_base *base, int fd, pid_t pid,
                                        worker_output_floods *floods, void *argument);
// Copies the remaining output. Must be called after the worker's end.
void worker_output_finish(struct worker_output *output);
void worker_output_free(struct worker_output **output);

#endif
