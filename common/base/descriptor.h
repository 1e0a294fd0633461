// SPDX-License-Identifier: BSD-3-Clause
// Keeps a library's descriptors out of the way of the program that it lives in. The program may
// have closed 0, 1 or 2 and would then write its output to a socket of the library; it may rely on
// small numbers (dup2 onto 3 to 9), or pass descriptors to select(). Every function that creates a
// descriptor must pass it through descriptor_own(); tests/layout/descriptors-are-owned.t checks
// this.
#ifndef RGPU_COMMON_DESCRIPTOR_H
#define RGPU_COMMON_DESCRIPTOR_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>

// Descriptors are moved to DESCRIPTOR_OWN or above, or to DESCRIPTOR_STANDARD or above if the
// process's limit is too low.
enum { DESCRIPTOR_OWN = 256, DESCRIPTOR_STANDARD = 3 };

// Moves FD to such a number, closes FD and returns the new descriptor, which is close-on-exec. If
// FD is negative, returns -1 and leaves errno. Returns -1 with errno if FD is below 3 and cannot be
// moved.
int descriptor_own(int fd);
// Makes OLD a descriptor of FD's file, close-on-exec, and closes FD. Other threads may use OLD
// meanwhile. Returns 0 or -errno.
int descriptor_replace(int old, int fd);
// As descriptor_own(), for a descriptor that the same function closes: moves it only if it is below
// 3.
int descriptor_own_briefly(int fd);

// As fopen() with MODE "r" or "w", but never waits for the other end of a named pipe.
FILE *descriptor_open_file(const char *path, const char *mode);
DIR *descriptor_open_directory(const char *path);

// Closes all descriptors from FIRST on, at once or by exec. Kernels before 5.11 take a system call
// for each. Returns 0 or -errno.
int descriptor_close_from(int first, bool at_exec);

// Surrounds calls of libraries that open descriptors: occupies the free numbers below 3 meanwhile.
// Reads and writes of the program on these numbers fail with EBADF, as they would without it.
struct descriptor_fence {
    int held[DESCRIPTOR_STANDARD];
};
void descriptor_fence_begin(struct descriptor_fence *fence);
void descriptor_fence_end(struct descriptor_fence *fence);

// Must be called first by programs of this project: opens 0, 1 and 2 if they are closed, so that no
// later file or socket becomes standard output. Child programs inherit the original state.
void descriptor_keep_standard(void);

#endif
