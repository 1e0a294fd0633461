// SPDX-License-Identifier: BSD-3-Clause
// What a row says where its transport has nothing to do.
#include "transport/transport.h"

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
