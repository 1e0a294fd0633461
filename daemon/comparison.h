// SPDX-License-Identifier: BSD-3-Clause
// The accounts of memory beside what the GPUs' management library says: where they differ for two rounds in
// a row, the log says so.
#ifndef RGPU_DAEMON_COMPARISON_H
#define RGPU_DAEMON_COMPARISON_H

#include "daemon/box.h"
#include "daemon/gauge.h"

void comparison_take(struct box *box, const struct gauge_round *round);

#endif
