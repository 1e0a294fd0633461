// SPDX-License-Identifier: BSD-3-Clause
// Copies from the GPU over a byte stream (pull.c).
#ifndef RGPU_WORKER_PULL_H
#define RGPU_WORKER_PULL_H

int pull_start(void);
void pull_deliver(void); // until pulls whose copies are done have been sent

#endif
