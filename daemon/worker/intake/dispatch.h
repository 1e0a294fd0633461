// SPDX-License-Identifier: BSD-3-Clause
// Decides which thread reads the link.
#ifndef RGPU_WORKER_DISPATCH_H
#define RGPU_WORKER_DISPATCH_H

#include "daemon/worker/request/serve.h"

void dispatch_start(void); // starts the first thread
void dispatch_offer(void); // makes a free thread read requests
// End the session: because of an invalid record of SIZE bytes, or because the link is down.
void dispatch_malformed(const struct serve *serve, int size) __attribute__((noreturn));
void dispatch_link_down(int err) __attribute__((noreturn));

#endif
