// SPDX-License-Identifier: BSD-3-Clause
// The timeline that RGPU_TRACE requests. Each thread fills its own buffer. A separate thread
// converts full buffers to text and writes them, so that calls of the program do not pay for that.
#ifndef RGPU_CLIENT_TIMELINE_H
#define RGPU_CLIENT_TIMELINE_H

#include <stdbool.h>

#include "client-lib/cuda/report/counts.h"
#include "proto/profiler_table.h"

// Begins a timeline in the file that PATTERN names (%p: the process's number). Returns false after
// reporting that the file cannot be written.
bool timeline_open(const char *pattern);
// Returns an empty buffer, which the calling thread owns until timeline_hand_over; NULL if memory
// has run out. Waits while too many buffers are not yet written. Any thread may call.
struct timeline_buffer *timeline_take(void);
// Passes *BUFFER, which is not NULL, to the writer, and sets it to NULL.
void timeline_hand_over(struct timeline_buffer **buffer);
// Adds a record of GPU work; a function of struct profiler_listener. NAME is the kernel's, else
// NULL.
void timeline_worked(void *unused, const struct wire_activity *work, const char *name);
// Sets COLLECT, which fetches the records of GPU work and returns how many were lost. The timeline
// calls it with each buffer that is written and at the end.
void timeline_collects(uint64_t (*collect)(void));
// Writes all buffers that were handed over and those of THREADS, and ends the timeline. Events that
// a thread adds afterwards are lost.
void timeline_close(const struct thread_counts *threads);

#endif
