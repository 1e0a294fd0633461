// SPDX-License-Identifier: BSD-3-Clause
// The text of a timeline: the array form of the Trace Event Format that Chrome's about:tracing and Perfetto
// read. The array needs no end, so what a killed process has written can be read as well.
//
// It is not written by stdio: a fork in the middle would leave the child with text to write.
// Any thread may call.
//
// What GPUs did has rows of its own, a process for each GPU and a thread for each stream; arrows lead there from
// the calls.
#ifndef RGPU_CLIENT_TIMELINE_TEXT_H
#define RGPU_CLIENT_TIMELINE_TEXT_H

#include <stdbool.h>

#include "client-lib/report/counts.h"
#include "proto/wire.h"

// FD is the text's from here on.
void timeline_text_begin(int fd);
// Adds the events of BUFFER and writes all. False: it cannot be written, which is told once.
bool timeline_text_add(const struct timeline_buffer *buffer);
// Adds what a GPU did; NAME is a kernel's, else NULL.
void timeline_text_work(const struct wire_activity *work, const char *name);
void timeline_text_end(void);

#endif
