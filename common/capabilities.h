// SPDX-License-Identifier: BSD-3-Clause
// The rights of root that a process may have without being root.
#ifndef RGPU_COMMON_CAPABILITIES_H
#define RGPU_COMMON_CAPABILITIES_H

// Gives all of them up, for programs that are started as well. -errno.
int capabilities_drop(void) __attribute__((warn_unused_result));

#endif
