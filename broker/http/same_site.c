// SPDX-License-Identifier: BSD-3-Clause
// Uses headers that the browser sets and that scripts of a page cannot change.
//
// - Host: an attacker's host name can resolve to the broker's address (DNS rebinding); a page from
//   that name then has the same origin as the broker. So only the broker's own names and addresses
//   are accepted.
// - Origin, Sec-Fetch-Site: they show that the page is from another site.
// - Content-Type: a page needs the server's permission (CORS) to send JSON to another site, and the
//   broker gives none.
#include "broker/http/same_site.h"

#include <string.h>
#include <strings.h>

// Returns true if the page at ORIGIN ("http://HOST:PORT") was loaded from where the request goes.
static bool is_own_origin(const char *origin, const char *host)
{
    size_t scheme = !strncasecmp(origin, "http://", 7)    ? 7
                    : !strncasecmp(origin, "https://", 8) ? 8
                                                          : 0;

    return scheme && !strcasecmp(origin + scheme, host);
}

// A link of another site may open the status page: the page contains no data before its own
// requests.
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
    if ((local || !head->authorization) && !own_names_include(names, head->host))
        return OUTCOME_FOREIGN_HOST;
    if (is_from_elsewhere(head))
        return OUTCOME_FOREIGN_SITE;
    return head->body_size > 0 && !is_json(head->content_type) ? OUTCOME_NO_JSON_TYPE
                                                               : OUTCOME_DONE;
}
