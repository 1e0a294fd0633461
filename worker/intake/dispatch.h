// SPDX-License-Identifier: BSD-3-Clause
// Who reads the link, and when somebody else does (dispatch.c).
#ifndef RGPU_WORKER_DISPATCH_H
#define RGPU_WORKER_DISPATCH_H

#include "worker/serve.h"

void dispatch_start(void); // the first reading thread
void dispatch_offer(void); // whoever is free takes requests from now on
void dispatch_malformed(const struct serve *serve, int size) __attribute__((noreturn));
void dispatch_link_down(int err) __attribute__((noreturn));

#endif
