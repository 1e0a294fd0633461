// SPDX-License-Identifier: BSD-3-Clause
// The MPS daemons of those GPUs whose processes share them by MPS (sharing of rgpud.conf): one for each GPU, by way of
// rgpu-mps-keeper. A worker that reaches such a GPU and no other is a client of its daemon.
#ifndef RGPU_DAEMON_MPS_DAEMON_H
#define RGPU_DAEMON_MPS_DAEMON_H

#include "daemon/box.h"

// Starts daemons that are not there and may be.
void mps_review(struct box *box);
// Ends all of them, and waits for that.
void mps_close(struct box *box);

// Processes of the GPU are to share it by MPS, as far as they use it alone.
bool mps_is_wanted(const struct box_device *device);
// A worker that reaches these devices is to be a client of its device's daemon.
bool mps_serves(const struct box_device *device, device_set sees);
// Nothing can be started or begun on the device now: its daemon is not ready, or its server is lost.
bool mps_holds_up(const struct box_device *device, device_set sees);
// It has failed to start so often that a client should not wait for it.
bool mps_is_broken(const struct box_device *device, device_set sees);
const char *mps_pipe(const struct box_device *device); // the directory by which clients find it
// Its descriptor, in which the socket "control" is that they connect to; -1 while there is none.
const int *mps_socket_directory(const struct box_device *device);
// A client has its context, so there is a server, whose end is noticed from here on.
void mps_note_client(const struct box_device *device);
// Ends a client with whatever it has the GPU do, which would otherwise be a fault to others. False: it cannot be done so.
bool mps_terminate(const struct box_device *device, pid_t client);
// One of the daemon's processes.
bool mps_has_process(const struct box_device *device, pid_t pid);
const char *mps_state_word(const struct box_device *device); // for people

// The context of a client, of this lease, was lost to a fault, and with it those of all clients: their sessions end, and
// the daemon is started anew. ALONE: no other session is concerned.
void mps_faulted(const struct box_device *device, const char *lease, int result, bool alone);
// Whether all who are clients of the device's daemon have to end, for which TEXT is the reason. It says so once, at the
// look that follows (lifecycle.c), as workers need this file.
bool mps_says_farewell(const struct box_device *device, char *text, size_t room);

#endif
