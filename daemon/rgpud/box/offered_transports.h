// SPDX-License-Identifier: BSD-3-Clause
// Transports that sessions of this box may use.
#ifndef RGPU_DAEMON_OFFERED_TRANSPORTS_H
#define RGPU_DAEMON_OFFERED_TRANSPORTS_H

#include "common/net/control.h"
#include "daemon/rgpud/box/box_settings.h"

enum {
    TRANSPORTS_MAX = sizeof((struct control_grant){0}.transports) /
                     sizeof(struct control_transport_name)
};

// Lists the transports of the setting, best first, without unknown names. Returns their number.
uint32_t transports_allowed(const struct box_settings *settings,
                            struct control_transport_name out[TRANSPORTS_MAX]);
bool transport_is_known(const char *name);
// Checks the setting. Returns 0, or -EINVAL after logging an unknown name.
int transports_check(const struct box_settings *settings) __attribute__((warn_unused_result));

#endif
