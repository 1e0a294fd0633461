// SPDX-License-Identifier: BSD-3-Clause
// Requests of other web sites. A page's script can choose neither Host, Origin nor Sec-Fetch-Site;
// the browser sets them.
//
// Host: an attacker's name can be made to resolve to this broker (DNS rebinding), and the page
// under that name is then of the same origin. An address cannot be redirected so.
// Origin, Sec-Fetch-Site: the page that sends the request is from elsewhere.
// Content-Type: a page needs the server's consent to send JSON elsewhere, and gets none here.
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
