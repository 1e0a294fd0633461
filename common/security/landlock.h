// SPDX-License-Identifier: BSD-3-Clause
// The kernel's Landlock interface, which the C library lacks and older kernel headers have only in
// part.
#ifndef RGPU_COMMON_LANDLOCK_H
#define RGPU_COMMON_LANDLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum {
    LANDLOCK_RULE_PLACE = 1,
    LANDLOCK_WRITE_FILE = 1 << 1,
    LANDLOCK_READ_FILE = 1 << 2,
    LANDLOCK_READ_DIR = 1 << 3,
    LANDLOCK_REMOVE_FILE = 1 << 5,
    LANDLOCK_MAKE_REGULAR = 1 << 8,
    LANDLOCK_TRUNCATE = 1 << 14,
    LANDLOCK_IOCTL_DEV = 1 << 15,
};

// Restrictions of a set of rules, as in the kernel's interface.
struct landlock_rules {
    uint64_t files;
    uint64_t network; // from ABI version 4 on
    uint64_t scopes;  // from ABI version 6 on
};

// Bits of `scopes`.
enum { LANDLOCK_ABSTRACT_SOCKETS = 1 << 0 };

struct landlock_place {
    uint64_t access;
    int32_t fd;
} __attribute__((packed));

// Returns the kernel's Landlock ABI version; 0 if Landlock is missing or disabled.
int landlock_abi(void);
// Sets *OUT to everything that ABI version ABI can restrict. Returns the size of the structure for
// the kernel, 0 without Landlock.
size_t landlock_rules_for(int abi, struct landlock_rules *out);

#endif
