// SPDX-License-Identifier: BSD-3-Clause
#include "common/net/own_names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/endpoint.h"

enum { NAMES_MAX = 24 };

struct own_names {
    char names[NAMES_MAX][ENDPOINT_HOST_MAX + 1];
    size_t count;
};

static void add_name(struct own_names *self, const char *name)
{
    if (*name && self->count < NAMES_MAX)
        snprintf(self->names[self->count++], sizeof(self->names[0]), "%s", name);
}

// The name as the system has it, its first label, and the full name that the name service gives.
static void add_host_names(struct own_names *self)
{
    const struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char name[ENDPOINT_HOST_MAX + 1] = "";

    if (gethostname(name, sizeof(name) - 1) < 0)
        return;
    add_name(self, name);
    if (!getaddrinfo(name, NULL, &hints, &found) && found->ai_canonname)
        add_name(self, found->ai_canonname);
    if (found)
        freeaddrinfo(found);
    name[strcspn(name, ".")] = '\0';
    add_name(self, name);
}

int own_names_new(char *const *listen, struct own_names **names)
{
    struct own_names *self = calloc(1, sizeof(*self));
    struct endpoint endpoint;

    if (!self)
        return -ENOMEM;
    add_name(self, "localhost");
    add_name(self, "broker"); // the name that our own programs use on a unix socket
    add_host_names(self);
    for (; *listen; listen++)
        if (!endpoint_parse(*listen, 0, &endpoint) && !endpoint.is_unix)
            add_name(self, endpoint.host);
    *names = self;
    return 0;
}

void own_names_free(struct own_names **names)
{
    free(*names);
    *names = NULL;
}

bool own_names_include(const struct own_names *self, const char *host)
{
    static const char digits[] = "0123456789";
    char name[ENDPOINT_HOST_MAX + 1];
    struct in6_addr address;
    bool bracket = *host == '[';
    size_t size = bracket ? strcspn(++host, "]") : strcspn(host, ":");
    const char *rest = host + size;

    if (bracket && *rest++ != ']')
        return false;
    if (size >= sizeof(name) || (*rest && (*rest != ':' || rest[1 + strspn(rest + 1, digits)])))
        return false;
    memcpy(name, host, size);
    name[size] = '\0';
    if (inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1)
        return true;
    for (size_t i = 0; i < self->count; i++)
        if (!strcasecmp(self->names[i], name))
            return true;
    return false;
}
