// SPDX-License-Identifier: BSD-3-Clause
// Sends this worker's queries to its supervisor while the worker serves (asking.c). Thread-safe,
// except that the main thread must not call: it receives the supervisor's answers.
#ifndef RGPU_WORKER_ASKING_H
#define RGPU_WORKER_ASKING_H

#include <stdbool.h>

#include "common/net/control.h"
#include "worker_driver.h"

// Registers memory that other sessions may use, of the device with that index in our list, with FD
// (-1: none), and gets its token.
CUresult ask_share(struct control_export *share, int fd, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// Gets what the token stands for, with such a device index. The caller owns *FD; -1: no descriptor
// came.
CUresult ask_redeem(enum control_export_kind kind, const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES],
                    struct control_redeemed *redeemed, int *fd);
// Reports that exported memory is freed, or that redeemed memory is no longer used.
void ask_no_more(const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES], bool exported);

// Gets space in the window into the client's machine, and gives it back.
CUresult ask_window_room(uint64_t size, uint64_t *place);
void ask_window_no_more(uint64_t place);

// Lets the process that proves TOKEN connect to this worker, under *NUMBER; on refusal the answer
// has the reason.
CUresult ask_expect(const uint8_t token[CONTROL_TOKEN_BYTES], uint32_t *number,
                    struct control_peer_expected *answer);
// Gets a connection to another box's worker. The caller owns *FD; -1: none, and the answer has the
// reason.
CUresult ask_call(struct control_peer_call *call, struct control_peer_called *answer, int *fd);
// Returns a connection to the socket of a worker of this host, which the caller owns, or -errno.
int ask_reach(const char *name);

// Waits until the lease may have BYTES more of the device, as other leases give way. Returns
// CUDA_ERROR_OUT_OF_MEMORY if they do not in time.
CUresult ask_quota(unsigned device, uint64_t bytes);

// Returns true if messages of this type answer queries of this file.
bool asking_is_answer(enum control_message_type type);
// Takes an answer with its FD, on the main thread. Returns 0, or -errno if the message is no
// answer.
int asking_answered(const struct control_frame *frame, int fd) __attribute__((warn_unused_result));

#endif
