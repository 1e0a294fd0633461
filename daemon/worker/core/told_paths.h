// SPDX-License-Identifier: BSD-3-Clause
// Collects measurements of copy paths, by the client and by the worker, for the supervisor, which
// stores them.
#ifndef RGPU_WORKER_TOLD_PATHS_H
#define RGPU_WORKER_TOLD_PATHS_H

#include "common/base/path_table.h"

// Adds a valid row for copies to and from the box at the address OTHER, over TRANSPORT; both empty:
// copies of the client. Thread-safe.
void told_paths_of_box(const char *other, const char *transport, const struct path_row *row);
// Sends the rows that were added since the last report. Called from time to time, and at the end.
void told_paths_report(int supervisor, const char *transport);

#endif
