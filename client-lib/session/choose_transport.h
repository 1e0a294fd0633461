// SPDX-License-Identifier: BSD-3-Clause
// How the bytes of a session will move.
#ifndef RGPU_CLIENT_CHOOSE_TRANSPORT_H
#define RGPU_CLIENT_CHOOSE_TRANSPORT_H

#include "client-lib/session/box_session.h"
#include "transport/transport.h"

// Makes the session's link over the wanted transport, or for NULL over the best. On -1 an error->result of 0
// means that another session, over the last transport of the table, may succeed.
int session_choose_link(struct box_session *session, const struct session_welcome *welcome,
                        const struct transport *wanted, struct session_error *error);

// How RGPU_TRANSPORT (NULL: the best), RGPU_PROTECTION and RGPU_MAPPED_HOST read; -EINVAL: unknown word, reported.
int transport_choice(const struct transport **choice);
int protection_choice(enum control_protection *choice);
// Whether RGPU_MAPPED_HOST asks for mirrors of page-locked memory where it cannot be shared.
int mapped_host_choice(bool *mirror);
// Which paths of copies RGPU_PATHS forces, as path_parse has it.
int paths_choice(unsigned *allowed);

#endif
