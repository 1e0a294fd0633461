// SPDX-License-Identifier: BSD-3-Clause
// Accepts connections of clients and watches them. If too many are in the handshake, it closes the
// oldest.
#ifndef RGPU_DAEMON_ARRIVAL_H
#define RGPU_DAEMON_ARRIVAL_H

#include "daemon/rgpud/box/box.h"

// Takes ownership of a new connection.
void arrival_accept(struct box *box, int fd);

#endif
