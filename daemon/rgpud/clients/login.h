// SPDX-License-Identifier: BSD-3-Clause
// Logs a client in: TLS with the secret of its ticket, then HELLO, until it is refused or waits for
// a worker. Each function may free the client.
#ifndef RGPU_DAEMON_LOGIN_H
#define RGPU_DAEMON_LOGIN_H

#include "daemon/rgpud/box/client.h"

void login_begin(struct client *client); // handles the first byte (CLIENT_ARRIVED)
void login_prove(struct client *client); // handles more TLS input (CLIENT_PROVING)
void login_hear(struct client *client);  // handles more of HELLO (CLIENT_GREETING)

#endif
