// SPDX-License-Identifier: BSD-3-Clause
// Answers clients that query the GPUs of their lease without a session: nvidia-smi and similar
// programs, through our libnvidia-ml.so.1. They need no worker and do not count as sessions.
#ifndef RGPU_DAEMON_FIGURES_QUERY_H
#define RGPU_DAEMON_FIGURES_QUERY_H

#include "daemon/rgpud/box/client.h"

// Answers the query of an authenticated client, which may query again until its time ends. May free
// the client.
void figures_query_answer(struct client *client);
// Answers all clients that wait for fresh figures.
void figures_query_resume(struct box *box);

#endif
