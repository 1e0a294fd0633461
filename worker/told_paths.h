// SPDX-License-Identifier: BSD-3-Clause
// What was found of the paths of copies, by the client and here, on its way to the supervisor, which keeps it.
#ifndef RGPU_WORKER_TOLD_PATHS_H
#define RGPU_WORKER_TOLD_PATHS_H

#include "common/path_table.h"

// A valid row of copies to and from the box at the address OTHER, over TRANSPORT; both empty: of the client's. Any thread.
void told_paths_of_box(const char *other, const char *transport, const struct path_row *row);
// Passes on what has come since the last time. Called now and then, and at the end.
void told_paths_report(int supervisor, const char *transport);

#endif
