// SPDX-License-Identifier: BSD-3-Clause
// Requests to the supervisor. Each call waits for the answer. Thread-safe, except that the main
// thread must not call, because it receives the answers.
#ifndef RGPU_WORKER_ASKING_H
#define RGPU_WORKER_ASKING_H

#include <stdbool.h>

#include "common/net/control.h"
#include "worker_driver.h"

// Exports memory and returns its token. SHARE->device is an index of this worker's GPUs; FD is the
// memory's descriptor or -1.
CUresult ask_share(struct control_export *share, int fd, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// Returns the exported memory of TOKEN. REDEEMED->device is an index of this worker's GPUs. The
// caller owns *FD, which may be -1.
CUresult ask_redeem(enum control_export_kind kind, const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES],
                    struct control_redeemed *redeemed, int *fd);
// Reports that exported memory (EXPORTED) is freed, or that imported memory is no longer used.
void ask_no_more(const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES], bool exported);

// Allocate and free space in the window of the client's virtual machine. *PLACE is an offset.
CUresult ask_window_room(uint64_t size, uint64_t *place);
void ask_window_no_more(uint64_t place);

// Makes the supervisor accept a connection to this worker with TOKEN; *NUMBER identifies it. If it
// refuses, ANSWER has the reason.
CUresult ask_expect(const uint8_t token[CONTROL_TOKEN_BYTES], uint32_t *number,
                    struct control_peer_expected *answer);
// Connects to a worker of another box. The caller owns *FD; on failure it is -1 and ANSWER has the
// reason.
CUresult ask_call(struct control_peer_call *call, struct control_peer_called *answer, int *fd);
// Returns a connection to the socket NAME of a worker on this host, which the caller owns, or
// -errno.
int ask_reach(const char *name);

// Waits until the lease may use BYTES more of an overcommitted device. Returns
// CUDA_ERROR_OUT_OF_MEMORY if other leases do not give way in time.
CUresult ask_quota(unsigned device, uint64_t bytes);
// The requests that wait for this now, and their bytes.
struct asking_quota {
    unsigned requests;
    uint64_t bytes;
};
struct asking_quota asking_quota(void);

// Sends the requests without an answer again, to another supervisor.
void asking_again(void);
// Returns true if messages of this type are answers to these requests.
bool asking_is_answer(enum control_message_type type);
// Handles such an answer and its descriptor FD, in the main thread. Returns 0, or -errno if it is
// malformed.
int asking_answered(const struct control_frame *frame, int fd) __attribute__((warn_unused_result));

#endif
