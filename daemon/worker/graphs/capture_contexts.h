// SPDX-License-Identifier: BSD-3-Clause
// Contexts whose streams take part in running captures, by the driver's number of the capture.
#ifndef RGPU_WORKER_CAPTURE_CONTEXTS_H
#define RGPU_WORKER_CAPTURE_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

// Returns true if any capture is in progress.
bool capture_contexts_any(void);
// Adds CONTEXT to CAPTURE. Returns false if memory is exhausted.
bool capture_context_note(uint64_t capture, uint64_t context) __attribute__((warn_unused_result));
// Removes the capture. Its result GRAPH (0: none) then needs all of its contexts. Returns false if
// memory is exhausted.
bool capture_context_end(uint64_t capture, uint64_t graph);

#endif
