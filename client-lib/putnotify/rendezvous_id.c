// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/rendezvous_id.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/net/endpoint.h"
#include "common/base/scope.h"
#include "client-lib/putnotify/failure.h"

enum { ADDRESSES_MAX = 3 };

// The id as it is stored in the program's 128 bytes. Its first byte is never 0, so zeros are no
// valid id.
struct rendezvous_id {
    char magic[8];
    uint16_t port; // in network byte order, as are the addresses
    uint8_t count, unused[5];
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES];
    uint8_t key[PLACE_KEY];
    struct in6_addr addresses[ADDRESSES_MAX]; // IPv4 addresses are mapped to IPv6
};
_Static_assert(sizeof(struct rendezvous_id) <= sizeof(struct rgpu_rendezvous),
               "an id has its room");
static const char magic[8] = "rgpumeet";

// A rendezvous that was opened here and is not claimed yet.
struct open_rendezvous {
    uint8_t key[PLACE_KEY];
    int listener;
    struct open_rendezvous *next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct open_rendezvous *open_list;

// ---- addresses ----

static bool add_address(struct rendezvous_id *id, const struct sockaddr *address)
{
    struct in6_addr *place = &id->addresses[id->count];
    if (id->count == ADDRESSES_MAX || !address)
        return false;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        memcpy(place->s6_addr, (uint8_t[12]){[10] = 0xff, [11] = 0xff}, 12);
        memcpy(place->s6_addr + 12, &v4->sin_addr, 4);
    } else {
        *place = ((const struct sockaddr_in6 *)address)->sin6_addr;
        if (IN6_IS_ADDR_LINKLOCAL(place))
            return false;
    }
    id->count++;
    return true;
}

// Adds the addresses of FAMILY, of interfaces that are up and not the loopback, or of the one that
// RGPU_TEAM_INTERFACE names.
static void rendezvous_id_add_interfaces(struct rendezvous_id *id, const struct ifaddrs *list,
                                         sa_family_t family)
{
    const char *wanted = secure_getenv("RGPU_TEAM_INTERFACE");
    bool any = !wanted || !*wanted;
    for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
        bool usable = any ? !(at->ifa_flags & IFF_LOOPBACK) : !strcmp(at->ifa_name, wanted);
        if (usable && at->ifa_flags & IFF_UP && at->ifa_addr && at->ifa_addr->sa_family == family)
            add_address(id, at->ifa_addr);
    }
}

static enum rgpu_result find_addresses(struct rendezvous_id *id)
{
    const struct sockaddr_in own = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *wanted = secure_getenv("RGPU_TEAM_INTERFACE");
    struct ifaddrs *list = NULL;
    if (getifaddrs(&list))
        return failure(RGPU_ERROR_INVALID, "this host does not say what its addresses are: %s",
                       strerror(errno));
    rendezvous_id_add_interfaces(id, list, AF_INET);
    rendezvous_id_add_interfaces(id, list, AF_INET6);
    freeifaddrs(list);
    if (!id->count && wanted && *wanted)
        return failure(RGPU_ERROR_INVALID, "RGPU_TEAM_INTERFACE=%s has no address", wanted);
    if (!id->count)
        add_address(id, (const struct sockaddr *)&own);
    return RGPU_SUCCESS;
}

// ---- ids ----

static enum rgpu_result rendezvous_id_keep(const struct rgpu_rendezvous *rendezvous, int listener)
{
    struct open_rendezvous *made = malloc(sizeof(*made));
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a rendezvous");
    memcpy(made->key, rendezvous->bytes + offsetof(struct rendezvous_id, key), sizeof(made->key));
    made->listener = listener;
    SCOPED_LOCK(&lock);
    made->next = open_list;
    open_list = made;
    return RGPU_SUCCESS;
}

enum rgpu_result rendezvous_id_make(struct rgpu_rendezvous *rendezvous, int *listener)
{
    struct rendezvous_id id = {0};
    struct endpoint anywhere = {0};
    uint16_t port;
    memcpy(id.magic, magic, sizeof(magic));
    if (getrandom(id.key, PLACE_KEY, 0) != PLACE_KEY || control_boot_id(id.boot_id))
        return failure(RGPU_ERROR_INVALID, "this host has no random numbers or no boot id");
    enum rgpu_result result = find_addresses(&id);
    if (result)
        return result;
    *listener = endpoint_listen(&anywhere, RGPU_MEMBERS_MAX, &port);
    if (*listener < 0)
        return failure(RGPU_ERROR_INVALID, "no port to meet at: %s", strerror(-*listener));
    id.port = htons(port);
    memset(rendezvous, 0, sizeof(*rendezvous));
    memcpy(rendezvous->bytes, &id, sizeof(id));
    return RGPU_SUCCESS;
}

RGPU_PUBLIC enum rgpu_result rgpu_rendezvous_open(struct rgpu_rendezvous *rendezvous)
{
    int listener;
    if (!rendezvous)
        return failure(RGPU_ERROR_INVALID, "rgpu_rendezvous_open: no place for an id");
    enum rgpu_result result = rendezvous_id_make(rendezvous, &listener);
    if (result)
        return result;
    result = rendezvous_id_keep(rendezvous, listener);
    if (result)
        close(listener);
    return result;
}

static void write_address(char *text, size_t size, const struct in6_addr *address)
{
    if (IN6_IS_ADDR_V4MAPPED(address))
        inet_ntop(AF_INET, address->s6_addr + 12, text, (socklen_t)size);
    else
        inet_ntop(AF_INET6, address, text, (socklen_t)size);
}

enum rgpu_result rendezvous_id_read(const struct rgpu_rendezvous *rendezvous,
                                    struct rendezvous_place *place)
{
    struct rendezvous_id id;
    char address[INET6_ADDRSTRLEN];
    memcpy(&id, rendezvous->bytes, sizeof(id));
    if (memcmp(id.magic, magic, sizeof(magic)) || !id.port || !id.count || id.count > ADDRESSES_MAX)
        return failure(RGPU_ERROR_INVALID, "this is no id of a rendezvous");
    *place = (struct rendezvous_place){.port = ntohs(id.port)};
    memcpy(place->boot_id, id.boot_id, sizeof(place->boot_id));
    memcpy(place->key, id.key, sizeof(place->key));
    for (int i = 0; i < id.count; i++) {
        size_t used = strlen(place->host);
        write_address(address, sizeof(address), &id.addresses[i]);
        snprintf(place->host + used, sizeof(place->host) - used, "%s%s", i ? "," : "", address);
    }
    return RGPU_SUCCESS;
}

int rendezvous_id_claim(const struct rendezvous_place *place)
{
    SCOPED_LOCK(&lock);
    for (struct open_rendezvous **at = &open_list; *at; at = &(*at)->next)
        if (secret_equal((*at)->key, place->key, PLACE_KEY)) {
            struct open_rendezvous *claimed = *at;
            int listener = claimed->listener;
            *at = claimed->next;
            explicit_bzero(claimed, sizeof(*claimed));
            free(claimed);
            return listener;
        }
    return -1;
}
