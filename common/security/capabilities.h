// SPDX-License-Identifier: BSD-3-Clause
// Linux capabilities of the process. Masks are made of 1 << CAP_KILL and the like.
#ifndef RGPU_COMMON_CAPABILITIES_H
#define RGPU_COMMON_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>

// Returns true if all capabilities in the mask are effective.
bool capabilities_held(uint32_t needed);
// Drops all capabilities but those in the mask; programs that this process executes get those only
// as root. Returns 0 or -errno.
int capabilities_keep(uint32_t kept) __attribute__((warn_unused_result));
// Drops all capabilities, also for programs that this process executes. Returns 0 or -errno.
int capabilities_drop(void) __attribute__((warn_unused_result));

#endif
