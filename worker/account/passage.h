// SPDX-License-Identifier: BSD-3-Clause
// Places in streams until which memory that a program has given back still counts (passage.c). Any thread may call.
#ifndef RGPU_WORKER_PASSAGE_H
#define RGPU_WORKER_PASSAGE_H

#include <stdbool.h>

#include "worker_driver.h"

struct passage;

void passages_prepare(void); // before requests are served
// The end of what STREAM of CONTEXT, the current one, has queued. NULL: it cannot be watched.
struct passage *passage_begin(CUcontext context, CUstream stream);
// Finds out what the GPU has passed. With no lock held that others need to go on.
void passages_query(void);
// Returns true if it was found that the GPU has passed it, or that its context has ended. False for NULL.
bool passage_is_over(const struct passage *passage);
// The green CONTEXT ends with ROOT.
void passages_end_with(CUcontext context, CUcontext root);
// CONTEXT has ended, and all of its work.
void passages_end_context(CUcontext context);
// Gives it back; NULL does nothing.
void passage_end(struct passage *passage);

#endif
