// SPDX-License-Identifier: BSD-3-Clause
// Makes pages of memory present before their use.
#ifndef RGPU_COMMON_RESIDENT_H
#define RGPU_COMMON_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>

// Makes the kernel allocate and map all pages of a writable mapping, in several threads if that is
// faster. Page faults one by one take many times as long. Does nothing before Linux 5.14. Returns
// false if memory is exhausted.
bool memory_make_resident(void *base, size_t size) __attribute__((warn_unused_result));
// As memory_make_resident(), for a few pages and in this thread, also for reading. Returns false if
// the kernel did not do it.
bool memory_enter_pages(void *base, size_t size, bool write);
// Prepares pages of the program for locking, as a driver does: makes all of them present, for
// writing if WRITE is set. Returns 0, -ENOMEM if memory is exhausted, or -EFAULT if a page is not
// mapped or not accessible in this way.
int memory_make_lockable(void *base, size_t size, bool write);

#endif
