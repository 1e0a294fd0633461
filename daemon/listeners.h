// SPDX-License-Identifier: BSD-3-Clause
// Listening sockets of the box.
#ifndef RGPU_DAEMON_LISTENERS_H
#define RGPU_DAEMON_LISTENERS_H

#include "daemon/box.h"

// What is wrong with the addresses is logged. -EINVAL.
int listeners_check(const struct box_settings *settings) __attribute__((warn_unused_result));
// Opens every address of settings that were checked; ARRIVED takes over the connections. -errno after logging.
int listeners_open(struct box *box, void (*arrived)(struct box *box, int fd))
    __attribute__((warn_unused_result));
void listeners_close(struct box *box);
// "host:port[,host:port]" as bound.
void listeners_text(const struct box *box, char *text, size_t size);

#endif
