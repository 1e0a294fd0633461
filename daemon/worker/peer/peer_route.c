// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/peer_route.h"

#include <stddef.h>

#include "daemon/worker/core/session.h"

void peer_route_begin(struct peer_route *route, const struct direct_move *memory, bool sends,
                      bool offers)
{
    route->memory = *memory;
    route->sends = sends;
    route->may = memory->link && memory->context && direct_may_hold(memory);
    if (route->may && offers && !sends)
        route->direct = direct_hold_registered(memory);
}

bool peer_route_reads_source(const struct peer_route *route)
{
    return route->chosen && (route->path == PATH_DIRECT || route->path == PATH_DIRECT_SOURCE);
}

bool peer_route_writes_target(const struct peer_route *route)
{
    return route->chosen && (route->path == PATH_DIRECT || route->path == PATH_DIRECT_TARGET);
}

void peer_route_choose(struct peer_route *route)
{
    bool source = route->sends ? route->may : route->far_may;
    bool target = route->sends ? route->far_may : route->may;
    enum copy_path most = source && target ? PATH_DIRECT
                          : source         ? PATH_DIRECT_SOURCE
                          : target         ? PATH_DIRECT_TARGET
                                           : PATH_STAGED;
    unsigned usable = PATH_BIT(PATH_STAGED) | (source ? PATH_BIT(PATH_DIRECT_SOURCE) : 0) |
                      (target ? PATH_BIT(PATH_DIRECT_TARGET) : 0) | PATH_BIT(most);

    route->chosen = true;
    route->path = copy_path_choose(usable, route->memory.size >= DIRECT_LEAST ? most : PATH_STAGED,
                                   session.paths_forced);
    if (route->sends ? peer_route_reads_source(route) : peer_route_writes_target(route))
        route->direct = direct_hold(&route->memory);
    if (!route->sends)
        return;
    route->asked = peer_route_writes_target(route) && !route->far;
    if (!peer_route_writes_target(route))
        route->far = 0;
}

void peer_route_register(struct peer_route *route)
{
    route->reported = true;
    if (!route->direct && route->may)
        route->direct = direct_hold(&route->memory);
}

void peer_route_hear(struct peer_route *route, uint64_t far, uint32_t far_key, bool may)
{
    route->far = far_key ? far : 0;
    route->far_key = far_key;
    route->far_may = far_key || may;
    route->asked = false;
}

void peer_route_end(struct peer_route *route)
{
    if (route->direct)
        direct_release(route->direct);
    route->direct = NULL;
}
