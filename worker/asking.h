// SPDX-License-Identifier: BSD-3-Clause
// What this worker asks its supervisor while it serves (asking.c). Any thread may call; the main thread, which hears
// the supervisor, must not.
#ifndef RGPU_WORKER_ASKING_H
#define RGPU_WORKER_ASKING_H

#include <stdbool.h>

#include "common/control.h"
#include "worker_driver.h"

// Shows memory that others may use, with FD (-1: none), and gets the token for it.
CUresult ask_share(struct control_export *share, int fd, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// Gets what a token stands for; *FD is the caller's, -1: none came.
CUresult ask_redeem(enum control_export_kind kind, const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES],
                    struct control_redeemed *redeemed, int *fd);
// Tells that what was shared is gone, or what was redeemed is not used any more.
void ask_no_more(const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES], bool exported);

// The main thread: an answer has come, with FD, which is taken. -errno: it is none.
int asking_answered(const struct control_frame *frame, int fd) __attribute__((warn_unused_result));

#endif
