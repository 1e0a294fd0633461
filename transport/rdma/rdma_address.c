// SPDX-License-Identifier: BSD-3-Clause
// Binding a connection identifier to each address is the only way that works on every fabric: it
// yields the device, its port and the GID that rdma_cm will use.
#include "transport/rdma/rdma_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct own_address {
    char text[INET6_ADDRSTRLEN];
    bool near;
};

int rdma_address_parse(const char *text, uint16_t port, struct rdma_address *out)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *found;

    if (getaddrinfo(text, NULL, &hints, &found))
        return -EINVAL;
    memset(out, 0, sizeof(*out));
    memcpy(&out->base, found->ai_addr,
           found->ai_addrlen < sizeof(*out) ? found->ai_addrlen : sizeof(*out));
    freeaddrinfo(found);
    if (out->base.sa_family == AF_INET)
        out->v4.sin_port = htons(port);
    else
        out->v6.sin6_port = htons(port);
    return 0;
}

static void rdma_address_text(const struct sockaddr *address, char *out, size_t room)
{
    const struct rdma_address *any = (const void *)address;

    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &any->v4.sin_addr, out, (socklen_t)room);
    else if (address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &any->v6.sin6_addr, out, (socklen_t)room);
    else
        snprintf(out, room, "unknown");
}

static size_t address_bytes(const struct rdma_address *address, const uint8_t **bytes)
{
    if (address->base.sa_family == AF_INET) {
        *bytes = (const uint8_t *)&address->v4.sin_addr;
        return 4;
    }
    *bytes = (const uint8_t *)&address->v6.sin6_addr;
    return 16;
}

static bool same_network(const struct ifaddrs *own, const struct rdma_address *other)
{
    const uint8_t *a, *b, *mask;

    if (!other || !own->ifa_netmask || own->ifa_addr->sa_family != other->base.sa_family)
        return false;
    size_t count = address_bytes((const void *)own->ifa_addr, &a);
    address_bytes(other, &b);
    // The family of a mask is not always set.
    struct rdma_address netmask = {0};
    memcpy(&netmask, own->ifa_netmask, count == 4 ? sizeof(netmask.v4) : sizeof(netmask.v6));
    netmask.base.sa_family = other->base.sa_family;
    address_bytes(&netmask, &mask);
    for (size_t i = 0; i < count; i++)
        if ((a[i] ^ b[i]) & mask[i])
            return false;
    return true;
}

static bool may_have_device(const struct ifaddrs *one)
{
    if (!one->ifa_addr || one->ifa_flags & IFF_LOOPBACK || !(one->ifa_flags & IFF_UP))
        return false;
    if (one->ifa_addr->sa_family == AF_INET)
        return true;
    const struct sockaddr_in6 *v6 = (const void *)one->ifa_addr;
    return one->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

static size_t list_own(const struct rdma_address *near, struct own_address *out, size_t room)
{
    struct ifaddrs *all, *one;
    size_t count = 0;

    if (getifaddrs(&all))
        return 0;
    for (one = all; one && count < room; one = one->ifa_next) {
        if (!may_have_device(one))
            continue;
        rdma_address_text(one->ifa_addr, out[count].text, sizeof(out[count].text));
        out[count++].near = same_network(one, near);
    }
    freeifaddrs(all);
    return count;
}

// ---- the device of an address ----

int rdma_place_bind(struct rdma_event_channel *events, const char *address, uint16_t port,
                    struct rdma_cm_id **id)
{
    struct rdma_address any;
    int r = rdma_address_parse(address, port, &any);

    if (r)
        return r;
    if (verbs.rdma_create_id(events, id, NULL, RDMA_PS_TCP))
        return -errno;
    errno = ENODEV;
    if (verbs.rdma_bind_addr(*id, &any.base) == 0 && (*id)->verbs)
        return 0;
    r = -errno;
    verbs.rdma_destroy_id(*id);
    *id = NULL;
    return r;
}

static int check_port(const struct rdma_cm_id *id, const struct rdma_place *place, char *text,
                      size_t room)
{
    struct ibv_port_attr port = {0};

    if (verbs.ibv_query_port(id->verbs, id->port_num, (void *)&port) ||
        port.state == IBV_PORT_ACTIVE)
        return 0;
    snprintf(text, room, "port %u of %s is not active", place->port, place->device);
    return -ENETDOWN;
}

// Over Ethernet an address has a GID for each version of RoCE, any of which will do.
static int check_gid(struct rdma_cm_id *id, int index, const struct rdma_place *place, char *text,
                     size_t room)
{
    union ibv_gid wanted, *bound = &id->route.addr.addr.ibaddr.sgid;

    if (index < 0)
        return 0;
    if (verbs.ibv_query_gid(id->verbs, id->port_num, index, &wanted) == 0 &&
        memcmp(&wanted, bound, sizeof(wanted)) == 0)
        return 0;
    snprintf(text, room, "GID %d of %s port %u is not that of an address that can be used", index,
             place->device, place->port);
    return -EADDRNOTAVAIL;
}

static int look_behind(struct rdma_event_channel *events, const char *address, int gid_index,
                       struct rdma_place *place, char *text, size_t room)
{
    struct rdma_cm_id *id;
    int r = rdma_place_bind(events, address, 0, &id);

    if (r) {
        snprintf(text, room, "no RDMA device can be used: %s: %s", address, strerror(-r));
        return r;
    }
    snprintf(place->address, sizeof(place->address), "%s", address);
    snprintf(place->device, sizeof(place->device), "%s",
             verbs.ibv_get_device_name(id->verbs->device));
    place->port = id->port_num;
    r = check_port(id, place, text, room);
    if (!r)
        r = check_gid(id, gid_index, place, text, room);
    verbs.rdma_destroy_id(id);
    return r;
}

// ---- which to use ----

struct place_search {
    struct rdma_event_channel *events;
    const struct rdma_options *options;
    struct own_address own[RDMA_PLACES_MAX];
    size_t own_count;
    struct rdma_place *out;
    size_t count;
    int error; // why the last one was left out
    char *text;
    size_t room;
};

static bool is_taken(const struct place_search *search, const struct rdma_place *place)
{
    for (size_t i = 0; i < search->count; i++)
        if (!strcmp(search->out[i].device, place->device) && search->out[i].port == place->port)
            return true;
    return false;
}

static void rdma_address_add(struct place_search *search, const struct rdma_place *place)
{
    if (search->count < RDMA_PLACES_MAX)
        search->out[search->count++] = *place;
}

// Adds this machine's addresses on networks of the peer (or, without NEAR, on other networks), only
// of DEVICE unless it is NULL; PORT 0 is any. Returns true if one was added.
static bool rdma_address_add_own(struct place_search *search, bool near, const char *device,
                                 unsigned port)
{
    bool found = false;

    for (size_t i = 0; i < search->own_count; i++) {
        struct rdma_place place;
        char text[200];
        if (search->own[i].near != near)
            continue;
        int r = look_behind(search->events, search->own[i].text, search->options->gid_index, &place,
                            text, sizeof(text));
        bool known = !r || r == -ENETDOWN || r == -EADDRNOTAVAIL;
        if (!known || (device && (strcmp(place.device, device) || (port && place.port != port))))
            continue;
        if (r) {
            search->error = r;
            snprintf(search->text, search->room, "%s", text);
        }
        if (r || (!device && is_taken(search, &place)))
            continue;
        rdma_address_add(search, &place);
        found = true;
        if (device)
            break;
    }
    return found;
}

static void add_named(struct place_search *search, const char *name)
{
    struct rdma_address address;
    struct rdma_place place;
    char device[64], *colon, *end = "";
    unsigned long port = 0;

    if (rdma_address_parse(name, 0, &address) == 0) {
        int r = look_behind(search->events, name, search->options->gid_index, &place, search->text,
                            search->room);
        if (r)
            search->error = r;
        else
            rdma_address_add(search, &place);
        return;
    }
    snprintf(device, sizeof(device), "%s", name);
    colon = strchr(device, ':');
    if (colon) {
        *colon = '\0';
        port = strtoul(colon + 1, &end, 10);
    }
    if (*end || (colon && (port < 1 || port > 255))) {
        snprintf(search->text, search->room, "%s is neither an address nor a device and its port",
                 name);
        return;
    }
    *search->text = '\0';
    if (!rdma_address_add_own(search, true, device, (unsigned)port) &&
        !rdma_address_add_own(search, false, device, (unsigned)port) && !*search->text)
        snprintf(search->text, search->room, "no address of this machine belongs to device %s",
                 name);
}

static void add_list(struct place_search *search, const char *list)
{
    char *copy = strdup(list), *rest = copy, *name;

    while (copy && (name = strsep(&rest, ", ")))
        if (*name)
            add_named(search, name);
    free(copy);
}

static void rotate(struct rdma_place *places, size_t count, unsigned turn)
{
    struct rdma_place copy[RDMA_PLACES_MAX];

    memcpy(copy, places, count * sizeof(*places));
    for (size_t i = 0; i < count; i++)
        places[i] = copy[(i + turn) % count];
}

int rdma_places(struct rdma_event_channel *events, const struct rdma_options *options,
                const struct rdma_address *near, struct rdma_place out[RDMA_PLACES_MAX], char *text,
                size_t room)
{
    struct place_search search = {.events = events,
                                  .options = options,
                                  .out = out,
                                  .text = text,
                                  .room = room,
                                  .error = -ENODEV};

    *text = '\0';
    search.own_count = list_own(near, search.own, RDMA_PLACES_MAX);
    if (options->devices && *options->devices) {
        add_list(&search, options->devices);
    } else if (!rdma_address_add_own(&search, near, NULL, 0) && near && options->gid_index >= 0) {
        rdma_address_add_own(&search, false, NULL, 0);
    }
    if (!search.count && !*text)
        snprintf(text, room, "no RDMA device has an address of this machine");
    rotate(out, search.count, options->turn);
    return search.count ? (int)search.count : search.error;
}
