// SPDX-License-Identifier: BSD-3-Clause
// Copies to the GPU over a byte stream (push.c).
#ifndef RGPU_WORKER_PUSH_H
#define RGPU_WORKER_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/move/staging.h"

int push_start(void);
// Whether that push has begun, so that its blocks can be served.
bool push_has_begun(uint32_t job);
// Gives a marked staging block back once its copy is over.
void push_see_off(struct block *block);

#endif
