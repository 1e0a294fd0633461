// SPDX-License-Identifier: BSD-3-Clause
// The administrator: drains and undrains boxes and GPUs, also by force, revokes leases, changes
// modes, and declares boxes gone that are down.
#ifndef RGPU_TEST_OPERATOR_H
#define RGPU_TEST_OPERATOR_H

#include <stdint.h>

void operator_set_up(uint64_t seed);
void operator_finish(void);
// Takes every box and GPU back into service.
void operator_undrain_all(void);
// Releases all leases that are left, as a scheduler does with those that have no job. Only after
// the database was restored: then leases live again whose users have released them.
void operator_release_left(void);

#endif
