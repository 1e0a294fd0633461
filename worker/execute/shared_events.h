// SPDX-License-Identifier: BSD-3-Clause
// Events between processes (shared_events.c).
#ifndef RGPU_WORKER_SHARED_EVENTS_H
#define RGPU_WORKER_SHARED_EVENTS_H

#include "common/control.h"

void shared_events_prepare(void); // when the driver is loaded
// Whoever has made an event is gone, and nothing will record it any more: who waits for it goes on.
void shared_events_orphaned(const struct control_export_inherited *gone);

#endif
