// SPDX-License-Identifier: BSD-3-Clause
// Runs one MPS daemon for each GPU with `sharing = mps`, through the MPS supervisor
// (rgpu-mps). A worker that reaches exactly one such GPU is a client of its daemon.
#ifndef RGPU_DAEMON_MPS_DAEMON_H
#define RGPU_DAEMON_MPS_DAEMON_H

#include "daemon/rgpud/box/box.h"

// Starts missing daemons, unless the box ends or a daemon's pause after a failure is not over.
void mps_review(struct box *box);
// Ends all daemons and waits for their end.
void mps_close(struct box *box);

// Returns true if processes that use this GPU alone share it by MPS.
bool mps_is_wanted(const struct box_device *device);
// Returns true if a worker with these devices is a client of the device's daemon.
bool mps_serves(const struct box_device *device, device_set sees);
// Returns true if nothing can start on the device now: its daemon is not ready, or its server is
// lost.
bool mps_holds_up(const struct box_device *device, device_set sees);
// Returns true if the daemon failed to start so often that clients should not wait for it.
bool mps_is_broken(const struct box_device *device, device_set sees);
// the directory in which clients find the daemon
const char *mps_pipe(const struct box_device *device);
// Points to the descriptor of the directory with the daemon's socket "control". The descriptor is
// -1 while there is none.
const int *mps_socket_directory(const struct box_device *device);
// Notes that a client has a context. A server therefore exists; the supervisor finds it and reports
// its end.
void mps_note_client(const struct box_device *device);
// Ends a client and its work on the GPU without a fault for other clients. Returns false if this is
// not possible.
bool mps_terminate(const struct box_device *device, pid_t client);
// Returns true if PID is the daemon or its server.
bool mps_has_process(const struct box_device *device, pid_t pid);
const char *mps_state_word(const struct box_device *device); // a text for people

// Handles a fault that destroyed the context of a client of this lease, and with it the contexts of
// all clients. Their sessions end and the daemon restarts. ALONE: no other session is affected.
void mps_faulted(const struct box_device *device, const char *lease, int result, bool alone);
// Returns true if all clients of the device's daemon must end, with the reason in TEXT. It returns
// true once for each such event; lifecycle.c asks in the next review.
bool mps_says_farewell(const struct box_device *device, char *text, size_t room);

#endif
