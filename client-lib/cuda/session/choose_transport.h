// SPDX-License-Identifier: BSD-3-Clause
// Chooses the transport of a session.
#ifndef RGPU_CLIENT_CHOOSE_TRANSPORT_H
#define RGPU_CLIENT_CHOOSE_TRANSPORT_H

#include "client-lib/cuda/session/box_session.h"
#include "transport/link/transport.h"

// Connects the session's link over transport WANTED, or over the best one if WANTED is NULL. On -1,
// error->result is 0 if another session over the table's last transport may succeed.
int session_choose_link(struct box_session *session, const struct session_welcome *welcome,
                        const struct transport *wanted, struct session_error *error);

// Parse RGPU_TRANSPORT (NULL: the best) and RGPU_PROTECTION. Return 0, or -EINVAL after reporting
// an unknown word.
int transport_choice(const struct transport **choice);
int protection_choice(enum control_protection *choice);
// Sets *MIRROR if RGPU_MAPPED_HOST requests mirrors of page-locked memory that cannot be shared.
// Returns as above.
int mapped_host_choice(bool *mirror);
// Parses RGPU_PATHS, the copy paths to force, with copy_path_parse.
int paths_choice(unsigned *forced);

#endif
