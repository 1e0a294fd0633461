// SPDX-License-Identifier: BSD-3-Clause
// The transports that sessions of this box may use.
#ifndef RGPU_DAEMON_OFFERED_TRANSPORTS_H
#define RGPU_DAEMON_OFFERED_TRANSPORTS_H

#include "common/control.h"
#include "daemon/box_settings.h"

enum {
    TRANSPORTS_MAX = sizeof((struct control_grant){0}.transports) /
                     sizeof(struct control_transport_name)
};

// Those that the setting allows, best first; their number. Unknown names are left out.
uint32_t transports_allowed(const struct box_settings *settings,
                            struct control_transport_name out[TRANSPORTS_MAX]);
bool transport_is_known(const char *name);
// -EINVAL: the setting names one that there is not, which is said.
int transports_check(const struct box_settings *settings) __attribute__((warn_unused_result));

#endif
