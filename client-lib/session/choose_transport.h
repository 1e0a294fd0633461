// SPDX-License-Identifier: BSD-3-Clause
// How the bytes of a session will move.
#ifndef RGPU_CLIENT_CHOOSE_TRANSPORT_H
#define RGPU_CLIENT_CHOOSE_TRANSPORT_H

#include "client-lib/session/box_session.h"

// Makes the session's link over the wanted or the best transport. On -1 an error->result of 0 means that
// another session, over tcp, may succeed.
int session_choose_link(struct box_session *session, const struct session_welcome *welcome,
                        enum control_transport wanted, struct session_error *error);

// How RGPU_TRANSPORT and RGPU_PROTECTION read; -EINVAL: unknown word, reported.
int transport_choice(enum control_transport *choice);
int protection_choice(enum control_protection *choice);

#endif
