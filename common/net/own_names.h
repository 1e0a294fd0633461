// SPDX-License-Identifier: BSD-3-Clause
// Names of an HTTP server. An attacker's host name can resolve to the server (DNS rebinding); for a
// browser, a page from that name then has the same origin as the server. A server that accepts only
// requests to its own names and to addresses rejects such a page.
#ifndef RGPU_COMMON_OWN_NAMES_H
#define RGPU_COMMON_OWN_NAMES_H

#include <stdbool.h>

struct own_names;

// Collects "localhost", this host's names, and those in LISTEN, a NULL-terminated list of
// addresses. May wait for the name service. Returns 0 or -ENOMEM.
int own_names_new(char *const *listen, struct own_names **names)
    __attribute__((warn_unused_result));
void own_names_free(struct own_names **names);

// Returns true if HOST (NAME or NAME:PORT) is an address or one of the names. The port does not
// matter, because ports may be forwarded. IPv6 addresses are in brackets.
bool own_names_include(const struct own_names *names, const char *host);

#endif
