// SPDX-License-Identifier: BSD-3-Clause
// The timeline that RGPU_TRACE asks for. Threads fill buffers of their own; a thread of the timeline turns
// full ones into text and writes them, so that a call of the program pays for neither.
#ifndef RGPU_CLIENT_TIMELINE_H
#define RGPU_CLIENT_TIMELINE_H

#include <stdbool.h>

#include "client-lib/report/counts.h"
#include "proto/profiler_table.h"

// Begins a timeline in the file that PATTERN names (%p: the process's number). False: it cannot be
// written, which has been told.
bool timeline_open(const char *pattern);
// An empty buffer for the calling thread; NULL where memory has run out. Waits while too many are still
// to be written. Any thread may call.
struct timeline_buffer *timeline_take(void);
// Has *BUFFER, which is not NULL, written, and sets it to NULL.
void timeline_hand_over(struct timeline_buffer **buffer);
// What a GPU did (struct profiler_listener).
void timeline_worked(void *unused, const struct wire_activity *work, const char *name);
// Has COLLECT called, with each buffer that is written and at the end: it fetches what GPUs did and gives how many
// records were lost.
void timeline_collects(uint64_t (*collect)(void));
// Writes what was handed over, what the buffers of THREADS hold, and the end. A thread that is in a call
// still loses what it adds from here on.
void timeline_close(const struct thread_counts *threads);

#endif
