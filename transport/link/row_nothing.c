// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>

#include "transport/link/transport.h"

int transport_listen_nowhere(const struct transport_worker *worker)
{
    return 0;
}

void transport_prepare_nothing(const struct transport_worker *worker)
{
}

void transport_withdraw_nothing(void)
{
}

bool transport_offer_no_peer(const struct transport_peer *peer, struct control_offer *offer,
                             char *text, size_t room)
{
    return false;
}

int transport_accept_no_peer(const struct transport_peer *peer, const struct control_offer *offer,
                             int timeout_ms, struct link **out, char *text, size_t room)
{
    return -EOPNOTSUPP;
}

int transport_connect_no_peer(const struct transport_peer *peer, const struct control_offer *offer,
                              int timeout_ms, struct link **out, char *text, size_t room)
{
    return -EOPNOTSUPP;
}

void transport_introduce_nothing(char *text, size_t room)
{
}
