// SPDX-License-Identifier: BSD-3-Clause
// Requests of other web sites. A page's script can choose neither Host, Origin nor Sec-Fetch-Site;
// the browser sets them.
//
// Host: an attacker's name can be made to resolve to this broker (DNS rebinding), and the page
// under that name is then of the same origin. An address cannot be redirected so.
// Origin, Sec-Fetch-Site: the page that sends the request is from elsewhere.
// Content-Type: a page needs the server's consent to send JSON elsewhere, and gets none here.
#include "broker/same_site.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/endpoint.h"

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

int own_names_new(const struct broker_settings *settings, struct own_names **names)
{
    struct own_names *self = calloc(1, sizeof(*self));
    struct endpoint endpoint;

    if (!self)
        return -ENOMEM;
    add_name(self, "localhost");
    add_name(self, "broker"); // what our own programs call a unix socket
    add_host_names(self);
    for (char **text = settings->listen; *text; text++)
        if (!endpoint_parse(*text, 0, &endpoint) && !endpoint.is_unix)
            add_name(self, endpoint.host);
    *names = self;
    return 0;
}

void own_names_free(struct own_names **names)
{
    free(*names);
    *names = NULL;
}

// HOST or HOST:PORT, with any port, as ports are forwarded. An IPv6 address stands in brackets.
static bool is_own_host(const struct own_names *self, const char *host)
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

// Returns true if the page at ORIGIN ("http://HOST:PORT") was loaded from where the request goes.
static bool is_own_origin(const char *origin, const char *host)
{
    size_t scheme = !strncasecmp(origin, "http://", 7)    ? 7
                    : !strncasecmp(origin, "https://", 8) ? 8
                                                          : 0;

    return scheme && !strcasecmp(origin + scheme, host);
}

// The status page may be opened by a link of another site: it holds nothing before it asks.
static bool is_from_elsewhere(const struct http_head *head)
{
    const char *site = head->fetch_site;

    if (head->origin && !is_own_origin(head->origin, head->host))
        return true;
    return site && strcmp(site, "same-origin") && strcmp(site, "none") && strcmp(head->target, "/");
}

static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    size_t size = sizeof(json) - 1;

    return type && !strncasecmp(type, json, size) && strchr(" \t;", type[size]);
}

// Over TCP a request with credentials may give any name: a page cannot sign.
enum outcome same_site_check(const struct own_names *names, const struct http_head *head,
                             bool local)
{
    if (!head->host)
        return OUTCOME_NO_HOST;
    if ((local || !head->authorization) && !is_own_host(names, head->host))
        return OUTCOME_FOREIGN_HOST;
    if (is_from_elsewhere(head))
        return OUTCOME_FOREIGN_SITE;
    return head->body_size > 0 && !is_json(head->content_type) ? OUTCOME_NO_JSON_TYPE
                                                               : OUTCOME_DONE;
}
