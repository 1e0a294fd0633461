// SPDX-License-Identifier: BSD-3-Clause
// Routes of the API by topic. Each table ends with a row whose pattern is NULL.
#ifndef RGPU_BROKER_ROUTES_H
#define RGPU_BROKER_ROUTES_H

#include "broker/api/api_call.h"

extern const struct route lease_routes[], box_routes[], scheduler_routes[], watch_routes[];

#endif
