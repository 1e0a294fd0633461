// SPDX-License-Identifier: BSD-3-Clause
// Login of a client: TLS with the secret of its ticket, then HELLO. Each function handles input in
// one state, and may free the client.
#ifndef RGPU_DAEMON_LOGIN_H
#define RGPU_DAEMON_LOGIN_H

#include "daemon/rgpud/box/client.h"

void login_begin(struct client *client); // CLIENT_ARRIVED: the first byte
void login_prove(struct client *client); // CLIENT_PROVING: TLS handshake
void login_hear(struct client *client);  // CLIENT_GREETING: HELLO

#endif
