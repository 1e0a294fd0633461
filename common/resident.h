// SPDX-License-Identifier: BSD-3-Clause
// Memory that is there before it is used.
#ifndef RGPU_COMMON_RESIDENT_H
#define RGPU_COMMON_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>

// Has the kernel make the pages of a writable mapping, and enter them in this process, in several threads where that
// pays: one page after the other, as the first access finds them missing, takes many times as long. A kernel
// before 5.14 leaves them as they are. False: there is no memory for them.
bool memory_make_resident(void *base, size_t size) __attribute__((warn_unused_result));
// The same of a few pages at most, in this thread and for reading as well. False: the kernel has left them.
bool memory_enter_pages(void *base, size_t size, bool write);
// What a driver does before it locks pages of the program: makes all of them, for writing unless they are only read. 0;
// -ENOMEM: the host has no such amount of memory; -EFAULT: some of it is not mapped, or may not be accessed that way.
int memory_make_lockable(void *base, size_t size, bool write);

#endif
