// SPDX-License-Identifier: BSD-3-Clause
// The rights of root that a process may have without being root.
#ifndef RGPU_COMMON_CAPABILITIES_H
#define RGPU_COMMON_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>

// Returns true if all of the mask (1 << CAP_KILL ...) are in effect.
bool capabilities_held(uint32_t needed);
// Gives up all but those of the mask, which only programs of the user 0 get over an exec. -errno.
int capabilities_keep(uint32_t kept) __attribute__((warn_unused_result));
// Gives all of them up, for programs that are started as well. -errno.
int capabilities_drop(void) __attribute__((warn_unused_result));

#endif
