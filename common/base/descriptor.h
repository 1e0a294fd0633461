// SPDX-License-Identifier: BSD-3-Clause
// Descriptors of a library that lives in the processes of strangers. Every function that makes a
// descriptor passes it through descriptor_own(), and tests/layout/descriptors-are-owned.t fails on
// one that does not.
//
// A program may have closed 0, 1 or 2, and would then write its output into a socket or a memory
// file of the library. It may also rely on small numbers of its own (dup2 onto 3 to 9), or pass
// descriptors to select().
#ifndef RGPU_COMMON_DESCRIPTOR_H
#define RGPU_COMMON_DESCRIPTOR_H

#include <dirent.h>
#include <stdio.h>

// Descriptors are moved to this number or above it if the limit of the process allows that, and to
// 3 or above otherwise.
enum { DESCRIPTOR_OWN = 256, DESCRIPTOR_STANDARD = 3 };

// Moves FD to such a number, closes FD and returns the new descriptor, which is closed on exec.
// Returns -1 with errno as it is if FD is negative, and -1 with errno set if no number is left for
// a descriptor that stood below 3.
int descriptor_own(int fd);
// For a descriptor that the same function closes again: moves it only if it stands below 3.
int descriptor_own_briefly(int fd);

// As fopen() does for MODE "r" and "w", but never waits for the other end of a named pipe.
FILE *descriptor_open_file(const char *path, const char *mode);
DIR *descriptor_open_directory(const char *path);

// Brackets calls into libraries that open descriptors of their own: occupies the free numbers below
// 3, so that none of these descriptors gets one. Reads and writes there meanwhile give EBADF as
// without this.
struct descriptor_fence {
    int held[DESCRIPTOR_STANDARD];
};
void descriptor_fence_begin(struct descriptor_fence *fence);
void descriptor_fence_end(struct descriptor_fence *fence);

// A program of this project calls this first, so that its own files and sockets never become its
// standard output. Its child programs inherit the standard descriptors that it was started with.
void descriptor_keep_standard(void);

#endif
