// SPDX-License-Identifier: BSD-3-Clause
// The timeline that RGPU_TRACE asks for.
#ifndef RGPU_CLIENT_TIMELINE_H
#define RGPU_CLIENT_TIMELINE_H

#include <stdbool.h>

#include "client-lib/report/counts.h"

// Begins a timeline in the file that PATTERN names (%p: the process's number). False: it cannot be
// written, which has been told.
bool timeline_open(const char *pattern);
// Writes a thread's events and forgets them. Any thread may call, for itself or for one that is gone.
void timeline_write(struct thread_counts *thread);
void timeline_close(void);

#endif
