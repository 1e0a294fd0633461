// SPDX-License-Identifier: BSD-3-Clause
// The login of a client: TLS by the secret of its ticket, then HELLO, until it is refused or waits for a worker.
// Each may free the client.
#ifndef RGPU_DAEMON_LOGIN_H
#define RGPU_DAEMON_LOGIN_H

#include "daemon/client.h"

void login_begin(struct client *client); // its first byte is there: CLIENT_ARRIVED
void login_prove(struct client *client); // more of TLS is there: CLIENT_PROVING
void login_hear(struct client *client);  // more of HELLO is there: CLIENT_GREETING

#endif
