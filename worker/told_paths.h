// SPDX-License-Identifier: BSD-3-Clause
// What the client says of the paths of its copies, on its way to the supervisor, which keeps it.
#ifndef RGPU_WORKER_TOLD_PATHS_H
#define RGPU_WORKER_TOLD_PATHS_H

// Passes on what has come since the last time. Called now and then, and at the end.
void told_paths_report(int supervisor, const char *transport);

#endif
