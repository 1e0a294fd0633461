// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_DAEMON_ARRIVAL_H
#define RGPU_DAEMON_ARRIVAL_H

#include "daemon/rgpud/box/box.h"

// Accepts the connection FD of a client, takes ownership and watches it. If too many clients are in
// the handshake, closes the oldest one.
void arrival_accept(struct box *box, int fd);

#endif
