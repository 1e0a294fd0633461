// SPDX-License-Identifier: BSD-3-Clause
// Clients that look at the GPUs of their lease instead of opening a session: nvidia-smi and the like, through our
// libnvidia-ml.so.1. They take no worker, and no place among the sessions.
#ifndef RGPU_DAEMON_LOOK_H
#define RGPU_DAEMON_LOOK_H

#include "daemon/client.h"

// The client has asked, and what it is has been proved: answers, and lets it ask again until its time is over. It may
// be freed.
void look_answer(struct client *client);
// There are fresh figures, which clients that look may have waited for.
void looks_go_on(struct box *box);

#endif
