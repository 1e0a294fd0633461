// SPDX-License-Identifier: BSD-3-Clause
// Workers that wait, warm, for clients: started where they lack, ended where there are too many.
#ifndef RGPU_DAEMON_REFILL_H
#define RGPU_DAEMON_REFILL_H

#include "daemon/box.h"

void refill_pools(struct box *box);
void refill_stop_warm(struct box *box);

#endif
