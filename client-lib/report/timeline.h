// SPDX-License-Identifier: BSD-3-Clause
// The timeline that RGPU_TRACE asks for. Threads fill buffers of their own; a thread of the timeline turns
// full ones into text and writes them, so that a call of the program pays for neither.
#ifndef RGPU_CLIENT_TIMELINE_H
#define RGPU_CLIENT_TIMELINE_H

#include <stdbool.h>

#include "client-lib/report/counts.h"

// Begins a timeline in the file that PATTERN names (%p: the process's number). False: it cannot be
// written, which has been told.
bool timeline_open(const char *pattern);
// An empty buffer for the calling thread; NULL where memory has run out. Waits while too many are still
// to be written. Any thread may call.
struct timeline_buffer *timeline_take(void);
// Has *BUFFER, which is not NULL, written, and sets it to NULL.
void timeline_hand_over(struct timeline_buffer **buffer);
// Writes what was handed over, what the buffers of THREADS hold, and the end. A thread that is in a call
// still loses what it adds from here on.
void timeline_close(const struct thread_counts *threads);

#endif
