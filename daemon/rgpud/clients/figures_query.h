// SPDX-License-Identifier: BSD-3-Clause
// Queries of clients for the GPUs of their lease, without a session, as nvidia-smi makes them
// through rgpu's libnvidia-ml.so.1. They need no worker.
#ifndef RGPU_DAEMON_FIGURES_QUERY_H
#define RGPU_DAEMON_FIGURES_QUERY_H

#include "daemon/rgpud/box/client.h"

// Answers an authenticated client, which may send further queries for a limited time. May free the
// client.
void figures_query_answer(struct client *client);
// Answers all clients that wait for new figures.
void figures_query_resume(struct box *box);

#endif
