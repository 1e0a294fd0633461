// SPDX-License-Identifier: BSD-3-Clause
// Events shared between processes.
#ifndef RGPU_WORKER_SHARED_EVENTS_H
#define RGPU_WORKER_SHARED_EVENTS_H

#include "common/net/control.h"

void shared_events_prepare(void); // must be called when the driver is loaded
// The session that created the event has ended: streams that wait for it continue.
void shared_events_orphaned(const struct control_export_inherited *gone);

#endif
