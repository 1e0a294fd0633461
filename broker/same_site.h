// SPDX-License-Identifier: BSD-3-Clause
// Refuses requests that a page of another web site makes a browser send. A browser on an
// administrator's machine reaches the broker through a forwarded port, and the kernel then reports
// the administrator as the sender of every request.
#ifndef RGPU_BROKER_SAME_SITE_H
#define RGPU_BROKER_SAME_SITE_H

#include <stdbool.h>

#include "broker/broker_settings.h"
#include "broker/http_head.h"
#include "broker/outcome.h"

// The names of this broker that a request may give as its host, beside addresses.
struct own_names;

// Collects the names: "localhost", this host's, and those in `listen`. May wait for the name
// service. -ENOMEM.
int own_names_new(const struct broker_settings *settings, struct own_names **names)
    __attribute__((warn_unused_result));
void own_names_free(struct own_names **names);

// Returns OUTCOME_DONE if no other site can have sent the request. `local`: over the unix socket,
// where credentials in the request do not count.
enum outcome same_site_check(const struct own_names *names, const struct http_head *head,
                             bool local) __attribute__((warn_unused_result));

#endif
