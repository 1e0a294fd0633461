// SPDX-License-Identifier: BSD-3-Clause
// The text of a timeline: the array form of the Trace Event Format that Chrome's about:tracing and
// Perfetto read. The array needs no end, so the file of a killed process can be read as well.
//
// The text is not written by stdio, because a fork would copy unwritten text to the child. Any
// thread may call.
//
// In the viewer, work of GPUs has its own rows: a process for each GPU and a thread for each
// stream. Arrows lead from the calls to their work.
#ifndef RGPU_CLIENT_TIMELINE_TEXT_H
#define RGPU_CLIENT_TIMELINE_TEXT_H

#include <stdbool.h>

#include "client-lib/cuda/report/counts.h"
#include "proto/wire.h"

// Begins the text in the file FD, and takes ownership of FD.
void timeline_text_begin(int fd);
// Writes the events of BUFFER and all text so far. Returns false if that fails; the first failure
// is reported.
bool timeline_text_add(const struct timeline_buffer *buffer);
// Adds a record of GPU work. NAME is the kernel's, else NULL.
void timeline_text_work(const struct wire_activity *work, const char *name);
// Writes the rest of the text and closes the file.
void timeline_text_end(void);

#endif
