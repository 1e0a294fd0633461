// SPDX-License-Identifier: BSD-3-Clause
// Requests of boxes: registration, and reports that are answered when there are orders.
#ifndef RGPU_BROKER_BOX_REPORTS_H
#define RGPU_BROKER_BOX_REPORTS_H

#include "broker/api/api_call.h"

// Handle PUT /v1/boxes/NAME and POST /v1/boxes/NAME/sync, see docs/reference/broker-api.md.
void box_reports_register(struct api_call *call);
void box_reports_sync(struct api_call *call);

#endif
