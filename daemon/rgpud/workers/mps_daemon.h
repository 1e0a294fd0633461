// SPDX-License-Identifier: BSD-3-Clause
// An MPS daemon for each GPU with `sharing = mps`, run by the MPS supervisor (rgpu-mps). A worker
// with access to exactly one such GPU is a client of its daemon.
#ifndef RGPU_DAEMON_MPS_DAEMON_H
#define RGPU_DAEMON_MPS_DAEMON_H

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/spawner_kept.h"

// Starts missing daemons, except during the pause after a failure. Called by lifecycle_review().
void mps_review(struct box *box);
// Takes over the supervisor of an earlier rgpud, or ends it.
void mps_take_over(struct box *box, const struct spawner_kept *kept);
// Returns true if PID is the daemon or its server of a supervisor that is not taken over yet.
bool mps_kept_has_process(const struct spawner_kept *kept, pid_t pid);
// Ends all daemons and waits for their end.
void mps_close(struct box *box);

// Returns true if processes that use only this GPU share it by MPS.
bool mps_is_wanted(const struct box_device *device);
// Returns true if a worker with access to the devices SEES is a client of the device's daemon.
bool mps_serves(const struct box_device *device, device_set sees);
// Returns true if such a worker cannot start now: the daemon is not ready, or its server is lost.
bool mps_holds_up(const struct box_device *device, device_set sees);
// Returns true if the daemon has failed so often that clients should not wait for it.
bool mps_is_broken(const struct box_device *device, device_set sees);
// Returns the directory for CUDA_MPS_PIPE_DIRECTORY.
const char *mps_pipe(const struct box_device *device);
// Returns the address of a descriptor: the directory with the daemon's socket "control", or -1.
const int *mps_socket_directory(const struct box_device *device);
// Notes that a client has a context, so that the MPS server exists. The supervisor then finds the
// server and reports its end.
void mps_note_client(const struct box_device *device);
// Ends a client and its work on the GPU without a fault in other clients. Returns false if that is
// not possible.
bool mps_terminate(const struct box_device *device, pid_t client);
// Returns true if PID is the daemon or its server.
bool mps_has_process(const struct box_device *device, pid_t pid);
const char *mps_state_word(const struct box_device *device); // state of the daemon, for users

// Handles a fault in a client's context, which has destroyed the contexts of all clients: ends
// their sessions and restarts the daemon. ALONE: there was no other session.
void mps_faulted(const struct box_device *device, const char *lease, int result, bool alone);
// Returns true, and the reason in TEXT, if all clients of the device's daemon must end; only once
// for each such event. Called by lifecycle_review().
bool mps_says_farewell(const struct box_device *device, char *text, size_t room);

#endif
