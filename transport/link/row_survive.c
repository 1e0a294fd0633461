// SPDX-License-Identifier: BSD-3-Clause
// For transports whose links survive lost connections.
#include <stdio.h>
#include <string.h>

#include "transport/link/transport.h"

int transport_survive(const struct transport_client *client, struct link *link,
                      int (*survive)(struct link *link, const struct link_reconnect *plan))
{
    struct link_reconnect plan = {
        .timeout_ms = client->reconnect_ms,
        .session = client->session,
        .privacy = client->protection == CONTROL_PROTECTION_PRIVACY,
    };

    snprintf(plan.box, sizeof(plan.box), "%s", client->address);
    memcpy(plan.token, client->resume->token, sizeof(plan.token));
    int err = survive(link, &plan);
    explicit_bzero(&plan, sizeof(plan));
    return err;
}
