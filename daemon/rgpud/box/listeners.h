// SPDX-License-Identifier: BSD-3-Clause
// Listening sockets of the box.
#ifndef RGPU_DAEMON_LISTENERS_H
#define RGPU_DAEMON_LISTENERS_H

#include "daemon/rgpud/box/box.h"

// Checks the setting `listen`. Returns 0, or -EINVAL after logging.
int listeners_check(const struct box_settings *settings) __attribute__((warn_unused_result));
// Opens all addresses. ARRIVED gets each new connection and owns it. Returns 0, or -errno after
// logging.
int listeners_open(struct box *box, void (*arrived)(struct box *box, int fd))
    __attribute__((warn_unused_result));
// Leaves clients in the queues of the sockets, or accepts them again.
void listeners_hold(struct box *box, bool hold);
void listeners_close(struct box *box);
// Writes the bound addresses as "host:port[,host:port]".
void listeners_text(const struct box *box, char *text, size_t size);

#endif
