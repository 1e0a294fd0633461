// SPDX-License-Identifier: BSD-3-Clause
// Connections of clients as they come: they are watched from here on, and where too many are in the handshake the
// oldest is closed.
#ifndef RGPU_DAEMON_ARRIVAL_H
#define RGPU_DAEMON_ARRIVAL_H

#include "daemon/box.h"

// Takes over a fresh connection.
void arrival_accept(struct box *box, int fd);

#endif
