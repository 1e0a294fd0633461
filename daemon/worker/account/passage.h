// SPDX-License-Identifier: BSD-3-Clause
// Passages: points in streams after which freed memory no longer counts. Thread-safe.
#ifndef RGPU_WORKER_PASSAGE_H
#define RGPU_WORKER_PASSAGE_H

#include <stdbool.h>

#include "worker_driver.h"

struct passage;

void passages_prepare(void); // must be called before requests are served
// Returns a passage after the work queued in STREAM of CONTEXT, the current context; NULL if that
// fails.
struct passage *passage_begin(CUcontext context, CUstream stream);
// Queries which passages the GPU has reached. Must be called without locks.
void passages_query(void);
// Returns true if passages_query() has found that the GPU has reached the passage, or that its
// context has ended. False for NULL.
bool passage_is_over(const struct passage *passage);
// The passages of the green context CONTEXT also end with ROOT.
void passages_end_with(CUcontext context, CUcontext root);
// Marks all passages of an ended context as reached.
void passages_end_context(CUcontext context);
// Frees the passage. NULL does nothing.
void passage_end(struct passage *passage);

#endif
