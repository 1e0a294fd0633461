// SPDX-License-Identifier: BSD-3-Clause
// Table functions for transports that lack an ability.
#include <errno.h>

#include "transport/link/link_private.h"

const struct link_staging *link_no_staging(const struct link *link)
{
    return NULL;
}

int link_no_window(const struct link *link)
{
    return -1;
}

static int send_no_region(struct link *link, uint32_t region, int fd)
{
    return -EOPNOTSUPP;
}

static int receive_no_region(struct link *link, uint32_t region, enum link_region_kind kind,
                             int *fd)
{
    return -EOPNOTSUPP;
}

const struct link_sharing link_shares_nothing = {
    .send_region = send_no_region,
    .receive_region = receive_no_region,
};

static int expose_nothing(struct link *link, void *base, size_t size, uint32_t *key)
{
    return -EOPNOTSUPP;
}

static void conceal_nothing(struct link *link, void *base, size_t size)
{
}

static int register_nothing(struct link *link, const struct link_local *memory,
                            struct link_registered **out)
{
    return -EOPNOTSUPP;
}

static uint32_t key_of_nothing(const struct link_registered *memory)
{
    return 0;
}

static void unregister_nothing(struct link *link, struct link_registered *memory)
{
}

static int start_no_transfer(struct link *link, const struct link_transfer *transfer)
{
    return -EOPNOTSUPP;
}

static int poll_no_transfer(struct link *link, void **cookies, int room)
{
    return -EOPNOTSUPP;
}

static int await_no_transfer(struct link *link, uint32_t us)
{
    return -EOPNOTSUPP;
}

static void wake_nobody(struct link *link)
{
}

const struct link_reaching link_reaches_nothing = {
    .expose = expose_nothing,
    .conceal = conceal_nothing,
    .register_local = register_nothing,
    .local_key = key_of_nothing,
    .unregister_local = unregister_nothing,
    .transfer_start = start_no_transfer,
    .transfer_poll = poll_no_transfer,
    .transfer_wait = await_no_transfer,
    .transfer_wake = wake_nobody,
};

static int send_at_once(struct link *link, const void *record, uint32_t size, const void *payload,
                        size_t length, struct link_ahead *ahead)
{
    return link->ops->send_bulk(link, record, size, payload, length);
}

static int receive_at_once(struct link *link, void *payload, size_t length,
                           struct link_ahead *ahead)
{
    return link->ops->receive_bulk(link, payload, length);
}

static void settle_nothing(struct link *link, const struct link_ahead *ahead)
{
}

const struct link_advance link_at_once = {
    .send = send_at_once,
    .receive = receive_at_once,
    .settle = settle_nothing,
};
