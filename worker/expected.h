// SPDX-License-Identifier: BSD-3-Clause
// What the GPU waits for and the client will send: data of a push, the end of a host function, the opening of a
// gate. Somebody has to read the link as long as there is any (relief.c). Any thread may call.
#ifndef RGPU_WORKER_EXPECTED_H
#define RGPU_WORKER_EXPECTED_H

#include <stdbool.h>

void expected_add(void);
void expected_came(void);
bool expected_any(void);
// RISES is called after each expected_add(). Before requests are served.
void expected_watch(void (*rises)(void));

#endif
