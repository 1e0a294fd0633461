// SPDX-License-Identifier: BSD-3-Clause
// Sends requests to the supervisor and waits for its answers (asking.c). Thread-safe, but the main
// thread must not call, because it receives the answers.
#ifndef RGPU_WORKER_ASKING_H
#define RGPU_WORKER_ASKING_H

#include <stdbool.h>

#include "common/net/control.h"
#include "worker_driver.h"

// Exports memory to other sessions, and returns its token. SHARE->device is an index of this
// worker's GPUs; FD: the memory's descriptor, or -1.
CUresult ask_share(struct control_export *share, int fd, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// Returns the exported memory of TOKEN; REDEEMED->device is such an index, too. The caller owns
// *FD; -1: it has no descriptor.
CUresult ask_redeem(enum control_export_kind kind, const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES],
                    struct control_redeemed *redeemed, int *fd);
// Reports that exported memory is freed, or that redeemed memory is no longer used.
void ask_no_more(const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES], bool exported);

// Allocate and free space in the window of the client's virtual machine. *PLACE is an offset.
CUresult ask_window_room(uint64_t size, uint64_t *place);
void ask_window_no_more(uint64_t place);

// Lets the process that proves TOKEN connect to this worker; *NUMBER identifies the connection. On
// refusal ANSWER has the reason.
CUresult ask_expect(const uint8_t token[CONTROL_TOKEN_BYTES], uint32_t *number,
                    struct control_peer_expected *answer);
// Returns a connection to a worker of another box. The caller owns *FD; -1: there is none, and
// ANSWER has the reason.
CUresult ask_call(struct control_peer_call *call, struct control_peer_called *answer, int *fd);
// Returns a connection to the socket of a worker of this host, which the caller owns, or -errno.
int ask_reach(const char *name);

// Waits until the lease may use BYTES more of the device, for which other leases leave the GPU.
// Returns CUDA_ERROR_OUT_OF_MEMORY if they do not in time.
CUresult ask_quota(unsigned device, uint64_t bytes);

// Returns true if messages of this type answer queries of this file.
bool asking_is_answer(enum control_message_type type);
// Takes an answer with its FD, on the main thread. Returns 0, or -errno if the message is no
// answer.
int asking_answered(const struct control_frame *frame, int fd) __attribute__((warn_unused_result));

#endif
