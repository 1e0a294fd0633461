// SPDX-License-Identifier: BSD-3-Clause
// Memory that is there before it is used.
#ifndef RGPU_COMMON_RESIDENT_H
#define RGPU_COMMON_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>

// Makes the kernel allocate and map the pages of a writable mapping, in several threads if that is
// faster. Page faults at the first access, one page after the other, take many times as long. A
// kernel before 5.14 leaves them as they are. False: there is no memory for them.
bool memory_make_resident(void *base, size_t size) __attribute__((warn_unused_result));
// The same of a few pages at most, in this thread and for reading as well. False: the kernel has
// left them.
bool memory_enter_pages(void *base, size_t size, bool write);
// Prepares pages of the program as a driver does before it locks them: makes all of them, for
// writing unless they are only read. Returns 0; -ENOMEM if the host has not that much memory;
// -EFAULT if some of it is not mapped or may not be accessed that way.
int memory_make_lockable(void *base, size_t size, bool write);

#endif
