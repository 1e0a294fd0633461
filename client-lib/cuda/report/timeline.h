// SPDX-License-Identifier: BSD-3-Clause
// The timeline that RGPU_TRACE requests. Each thread fills its own buffer. A separate thread
// converts full buffers to text and writes them, so that calls of the program do not pay for that.
#ifndef RGPU_CLIENT_TIMELINE_H
#define RGPU_CLIENT_TIMELINE_H

#include <stdbool.h>

#include "client-lib/cuda/report/counts.h"
#include "proto/profiler_table.h"

// Begins a timeline in the file that PATTERN names (%p: the process's number). Returns false if it
// cannot be written, after reporting that.
bool timeline_open(const char *pattern);
// Returns an empty buffer for the calling thread; NULL if memory has run out. Waits while too many
// buffers are not yet written. Any thread may call.
struct timeline_buffer *timeline_take(void);
// Passes *BUFFER, which is not NULL, to the writer, and sets it to NULL.
void timeline_hand_over(struct timeline_buffer **buffer);
// Adds work of a GPU (struct profiler_listener).
void timeline_worked(void *unused, const struct wire_activity *work, const char *name);
// COLLECT is called with each buffer that is written and at the end. It fetches the GPUs' work, and
// returns how many records were lost.
void timeline_collects(uint64_t (*collect)(void));
// Writes all buffers handed over, the buffers of THREADS, and the end. Events that a thread adds
// after this are lost.
void timeline_close(const struct thread_counts *threads);

#endif
