// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/peer_route.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/scope.h"
#include "daemon/worker/core/asking.h"

// ---- what is known ----

// Without one the box itself is meant, as of a connection within a host.
static void address_of(int fd, char *text, size_t room)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);

    snprintf(text, room, "local");
    if (!getpeername(fd, (struct sockaddr *)&address, &size) &&
        (address.ss_family == AF_INET || address.ss_family == AF_INET6) &&
        getnameinfo((struct sockaddr *)&address, size, text, (socklen_t)room, NULL, 0,
                    NI_NUMERICHOST))
        snprintf(text, room, "local");
}

struct timed_paths *peer_route_paths(int fd, const char *transport)
{
    struct timed_paths *paths = calloc(1, sizeof(*paths));
    SCOPED_FREE struct asked_paths *known = malloc(sizeof(*known));

    if (!paths)
        return NULL;
    paths->first_use = PATH_TO_BOX;
    snprintf(paths->transport, sizeof(paths->transport), "%s", transport);
    address_of(fd, paths->other, sizeof(paths->other));
    if (known && ask_paths(paths->other, paths->transport, known) == CUDA_SUCCESS)
        for (unsigned i = 0; i < known->count; i++)
            path_learn(&paths->table, &known->rows[i]);
    return paths;
}

// ---- one copy ----

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
    return route->chosen &&
           (route->way.path == PATH_DIRECT || route->way.path == PATH_DIRECT_SOURCE);
}

bool peer_route_writes_target(const struct peer_route *route)
{
    return route->chosen &&
           (route->way.path == PATH_DIRECT || route->way.path == PATH_DIRECT_TARGET);
}

static struct timed_path_wish wish_of(const struct peer_route *route, bool alone)
{
    bool source = route->sends ? route->may : route->far_may;
    bool target = route->sends ? route->far_may : route->may;
    enum path most = source && target ? PATH_DIRECT
                     : source         ? PATH_DIRECT_SOURCE
                     : target         ? PATH_DIRECT_TARGET
                                      : PATH_STAGED;

    return (struct timed_path_wish){
        .kind = !route->sends,
        .size = route->memory.size,
        .alone = alone,
        .usable = PATH_BIT(PATH_STAGED) | (source ? PATH_BIT(PATH_DIRECT_SOURCE) : 0) |
                  (target ? PATH_BIT(PATH_DIRECT_TARGET) : 0) | PATH_BIT(most),
        .usual = route->memory.size >= DIRECT_USUALLY ? most : PATH_STAGED,
    };
}

void peer_route_choose(struct peer_route *route, struct timed_paths *paths, bool alone)
{
    const struct timed_path_wish wish = wish_of(route, alone);

    route->chosen = true;
    route->way = (struct timed_path){.path = PATH_STAGED};
    if (!paths)
        return;
    timed_path_choose(paths, &route->way, &wish);
    timed_path_begins(&route->way);
    if (route->sends ? peer_route_reads_source(route) : peer_route_writes_target(route)) {
        route->direct = direct_hold(&route->memory);
        route->way.measured &= route->direct != NULL;
    }
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
    route->way.measured &= !route->asked || route->far;
    route->asked = false;
}

void peer_route_end(struct peer_route *route)
{
    if (route->direct)
        direct_release(route->direct);
    route->direct = NULL;
}
