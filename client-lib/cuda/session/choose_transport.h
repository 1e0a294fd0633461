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
// RGPU_MAPPED_HOST: how kernels get host memory that the box cannot share.
enum mapped_host {
    MAPPED_HOST_AUTO,   // the box mirrors memory as soon as a kernel may use it
    MAPPED_HOST_NO,     // none
    MAPPED_HOST_MIRROR, // the box mirrors all page-locked memory from its allocation on
};
// Sets *CHOICE, MAPPED_HOST_AUTO if the variable is not set.
// Returns as above.
int mapped_host_choice(enum mapped_host *choice);
// Parses RGPU_PATHS, the copy paths to force, with copy_path_parse.
int paths_choice(unsigned *forced);

#endif
