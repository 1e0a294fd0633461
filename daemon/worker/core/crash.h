// SPDX-License-Identifier: BSD-3-Clause
// Logs a stack trace when the worker crashes.
#ifndef RGPU_WORKER_CRASH_H
#define RGPU_WORKER_CRASH_H

void crash_report_start(void);

#endif
