// SPDX-License-Identifier: BSD-3-Clause
// Refuses requests that a page of another web site makes a browser send. A browser on an
// administrator's machine reaches the broker through a forwarded port, and the kernel then reports
// the administrator as the sender of every request.
#ifndef RGPU_BROKER_SAME_SITE_H
#define RGPU_BROKER_SAME_SITE_H

#include <stdbool.h>

#include "broker/http/http_head.h"
#include "broker/pool/outcome.h"
#include "common/net/own_names.h"

// Returns OUTCOME_DONE if no other site can have sent the request. `local`: it came over the unix
// socket, where credentials in the request do not count.
enum outcome same_site_check(const struct own_names *names, const struct http_head *head,
                             bool local) __attribute__((warn_unused_result));

#endif
