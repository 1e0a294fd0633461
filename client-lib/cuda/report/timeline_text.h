// SPDX-License-Identifier: BSD-3-Clause
// The text of a timeline: the array form of the Trace Event Format that Chrome's about:tracing and
// Perfetto read. The array needs no end, so the file of a killed process can be read as well.
//
// It is not written by stdio, because a fork would copy unwritten text to the child. Any thread may
// call.
//
// GPUs' work has its own rows, a process for each GPU and a thread for each stream. Arrows lead
// there from the calls.
#ifndef RGPU_CLIENT_TIMELINE_TEXT_H
#define RGPU_CLIENT_TIMELINE_TEXT_H

#include <stdbool.h>

#include "client-lib/cuda/report/counts.h"
#include "proto/wire.h"

// Takes ownership of FD.
void timeline_text_begin(int fd);
// Adds the events of BUFFER and writes all. Returns false if that fails, which is reported once.
bool timeline_text_add(const struct timeline_buffer *buffer);
// Adds work of a GPU; NAME is the kernel's, else NULL.
void timeline_text_work(const struct wire_activity *work, const char *name);
void timeline_text_end(void);

#endif
