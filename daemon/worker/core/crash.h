// SPDX-License-Identifier: BSD-3-Clause
// Logs the state of a worker that crashes (crash.c).
#ifndef RGPU_WORKER_CRASH_H
#define RGPU_WORKER_CRASH_H

void crash_report_start(void);

#endif
