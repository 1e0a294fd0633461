// SPDX-License-Identifier: BSD-3-Clause
// Events between processes (shared_events.c).
#ifndef RGPU_WORKER_SHARED_EVENTS_H
#define RGPU_WORKER_SHARED_EVENTS_H

#include "common/net/control.h"

void shared_events_prepare(void); // when the driver is loaded
// The session that made the event has ended, and no record will follow: its waiters go on.
void shared_events_orphaned(const struct control_export_inherited *gone);

#endif
