// SPDX-License-Identifier: BSD-3-Clause
// Refuses requests that a page of another web site makes a browser send. On the unix socket the
// broker takes the peer's user for the sender. A browser that reaches that socket through a
// forwarded port would therefore act for the administrator, whichever page sent the request.
#ifndef RGPU_BROKER_SAME_SITE_H
#define RGPU_BROKER_SAME_SITE_H

#include <stdbool.h>

#include "broker/http/http_head.h"
#include "broker/pool/outcome.h"
#include "common/net/own_names.h"

// Returns OUTCOME_DONE if no page of another site can have sent the request. `local`: the request
// came over the unix socket; credentials in its headers then prove nothing.
enum outcome same_site_check(const struct own_names *names, const struct http_head *head,
                             bool local) __attribute__((warn_unused_result));

#endif
