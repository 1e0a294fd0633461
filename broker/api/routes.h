// SPDX-License-Identifier: BSD-3-Clause
// Lists the API's routes by topic; each table ends with a row without a pattern.
#ifndef RGPU_BROKER_ROUTES_H
#define RGPU_BROKER_ROUTES_H

#include "broker/api/api_call.h"

extern const struct route lease_routes[], box_routes[], scheduler_routes[], watch_routes[];

#endif
