// SPDX-License-Identifier: BSD-3-Clause
// What this worker asks its supervisor while it serves (asking.c). Any thread may call; the main thread, which hears
// the supervisor, must not.
#ifndef RGPU_WORKER_ASKING_H
#define RGPU_WORKER_ASKING_H

#include <stdbool.h>

#include "common/control.h"
#include "common/path_table.h"
#include "worker_driver.h"

// Shows memory that others may use, of the device of that place in our list, with FD (-1: none), and gets the token for it.
CUresult ask_share(struct control_export *share, int fd, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// Gets what a token stands for, with such a place; *FD is the caller's, -1: none came.
CUresult ask_redeem(enum control_export_kind kind, const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES],
                    struct control_redeemed *redeemed, int *fd);
// Tells that what was shared is gone, or what was redeemed is not used any more.
void ask_no_more(const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES], bool exported);

// Gets room in the window into the client's machine, and gives it back.
CUresult ask_window_room(uint64_t size, uint64_t *place);
void ask_window_no_more(uint64_t place);

// Has whoever proves TOKEN connected with this worker, under *NUMBER; the answer says why not.
CUresult ask_expect(const uint8_t token[CONTROL_TOKEN_BYTES], uint32_t *number,
                    struct control_peer_expected *answer);
// Gets a connection to another box's worker; *FD is the caller's, -1: none, and the answer says why.
CUresult ask_call(struct control_peer_call *call, struct control_peer_called *answer, int *fd);
// A connection to the socket of a worker of this host, which is the caller's; -errno.
int ask_reach(const char *name);

// Waits until the lease may have so much more of the device, as others give way; CUDA_ERROR_OUT_OF_MEMORY: they did not
// for too long.
CUresult ask_room(unsigned device, uint64_t bytes);

// What the box knows of the paths of copies to and from another one. Without an answer it is nothing.
struct asked_paths {
    unsigned count;
    struct path_row rows[(PATH_USES - PATH_TO_BOX) * PATH_PATTERNS * PATH_SIZES + 1];
};
CUresult ask_paths(const char *other, const char *transport, struct asked_paths *paths);

// Whether a message is an answer to what is asked here.
bool asking_is_answer(enum control_message_type type);
// The main thread: an answer has come, with FD, which is taken. -errno: it is none.
int asking_answered(const struct control_frame *frame, int fd) __attribute__((warn_unused_result));

#endif
