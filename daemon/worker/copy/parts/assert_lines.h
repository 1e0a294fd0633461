// SPDX-License-Identifier: BSD-3-Clause
// Lines that failing assertions of kernels write (assert_lines.c).
#ifndef RGPU_WORKER_ASSERT_LINES_H
#define RGPU_WORKER_ASSERT_LINES_H

// Begins to pass such lines to the client, before the first code is loaded. Idempotent.
void assert_lines_begin(void);
// Sends what has been written. Called after the failure is known, before it is reported.
void assert_lines_deliver(void);

#endif
