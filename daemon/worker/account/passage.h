// SPDX-License-Identifier: BSD-3-Clause
// Tracks points in streams until which freed memory of a program still counts (passage.c).
// Thread-safe.
#ifndef RGPU_WORKER_PASSAGE_H
#define RGPU_WORKER_PASSAGE_H

#include <stdbool.h>

#include "worker_driver.h"

struct passage;

void passages_prepare(void); // before requests are served
// Returns the end of the work queued in STREAM of CONTEXT, which is current. NULL: it cannot be
// watched.
struct passage *passage_begin(CUcontext context, CUstream stream);
// Queries which points the GPU has passed. Call without locks that other threads need.
void passages_query(void);
// Returns true if passages_query() found that the GPU has passed the point, or that its context has
// ended. False for NULL.
bool passage_is_over(const struct passage *passage);
// Ties the green CONTEXT to ROOT: its passages end with ROOT.
void passages_end_with(CUcontext context, CUcontext root);
// Marks all passages of CONTEXT as over, after its end.
void passages_end_context(CUcontext context);
// Frees it; NULL does nothing.
void passage_end(struct passage *passage);

#endif
