// SPDX-License-Identifier: BSD-3-Clause
// The names under which an HTTP server is known. An attacker can make a name of his own resolve to
// the server (DNS rebinding); a page under that name is then of the same origin for a browser. A
// server that answers only to its own names and to addresses refuses such a page.
#ifndef RGPU_COMMON_OWN_NAMES_H
#define RGPU_COMMON_OWN_NAMES_H

#include <stdbool.h>

struct own_names;

// Collects "localhost", this host's names, and those in LISTEN, a list of endpoints that ends with
// NULL. May wait for the name service. Returns 0 or -ENOMEM.
int own_names_new(char *const *listen, struct own_names **names)
    __attribute__((warn_unused_result));
void own_names_free(struct own_names **names);

// Returns true if HOST is an address or one of the names: NAME or NAME:PORT with any port, since
// ports are forwarded. An IPv6 address stands in brackets.
bool own_names_include(const struct own_names *names, const char *host);

#endif
