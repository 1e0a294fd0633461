// SPDX-License-Identifier: BSD-3-Clause
// A box's state directory. It stands in for daemon/rgpud/box/state_saver.c, whose writes take time
// and are lost when the box loses power before.
#ifndef RGPU_TEST_BOX_DISK_H
#define RGPU_TEST_BOX_DISK_H

#include "tests/simulation/simulated_box.h"

// Makes and removes the directory that all boxes use, one after the other.
void box_disk_open(void);
void box_disk_close(void);
char *box_disk_directory(const struct simulated_box *box);
// Puts the box's files into the directory, for its process to read at its start.
void box_disk_lay_out(const struct simulated_box *box);

// Returns true if the agent takes tickets of the lease without a word of the broker.
bool box_disk_accepts(const struct simulated_box *box, const struct session_grant *grant);
// Returns the epoch that the agent knows.
int64_t box_disk_epoch(const struct simulated_box *box);

#endif
