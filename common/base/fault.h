// SPDX-License-Identifier: BSD-3-Clause
// Named points at which a test can break a program, through the environment:
//
//     RGPU_FAULT=POINT:ACTION[@N][,...]
//
//     kill      SIGKILL to oneself
//     fail=E    the point reports the error E (a number or ENOSPC, EIO, EBUSY); the caller fails
//     stop      SIGSTOP to oneself
//
// From the N-th time on that the point is reached (1 without @N). Without the variable a point
// costs one load.
#ifndef RGPU_COMMON_FAULT_H
#define RGPU_COMMON_FAULT_H

#include <stdbool.h>

extern bool fault_armed;

// Reads RGPU_FAULT; call once at program start.
void fault_init(void);
int fault_hit(const char *point);

// 0, or -errno where a test wants the point to fail.
#define fault_point(point) (__builtin_expect(fault_armed, 0) ? fault_hit(point) : 0)

#endif
