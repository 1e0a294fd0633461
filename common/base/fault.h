// SPDX-License-Identifier: BSD-3-Clause
// Named points at which tests inject faults, through the environment:
//
//     RGPU_FAULT=POINT:ACTION[@N][,...]
//
//   kill      the process sends itself SIGKILL
//   fail=E    the point fails with error E (a number or ENOSPC, EIO, EBUSY)
//   stop      the process sends itself SIGSTOP
//
// The action happens from the N-th time on that the point is reached (default 1). Without the
// variable a point costs one load.
#ifndef RGPU_COMMON_FAULT_H
#define RGPU_COMMON_FAULT_H

#include <stdbool.h>

extern bool fault_armed;

// Reads RGPU_FAULT. Must be called once at program start.
void fault_init(void);
int fault_hit(const char *point);

// Returns 0, or -errno if RGPU_FAULT makes the point fail.
#define fault_point(point) (__builtin_expect(fault_armed, 0) ? fault_hit(point) : 0)

#endif
