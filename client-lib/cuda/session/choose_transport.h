// SPDX-License-Identifier: BSD-3-Clause
// Chooses the transport of a session.
#ifndef RGPU_CLIENT_CHOOSE_TRANSPORT_H
#define RGPU_CLIENT_CHOOSE_TRANSPORT_H

#include "client-lib/cuda/session/box_session.h"
#include "transport/link/transport.h"

// Connects the session's link over transport WANTED, or over the best one if WANTED is NULL.
// WELCOME is the box's answer to the session request. Returns 0, or -1 with *ERROR; error->result
// is 0 if the caller may open another session and use the last transport of the table there.
int session_choose_link(struct box_session *session, const struct session_welcome *welcome,
                        const struct transport *wanted, struct session_error *error);

// Parses the environment variable RGPU_TRANSPORT. *CHOICE: NULL for the best transport. Returns 0,
// or -EINVAL after reporting an unknown word.
int transport_choice(const struct transport **choice);
// Parses RGPU_PROTECTION. Returns as above.
int protection_choice(enum control_protection *choice);
// Values of RGPU_MAPPED_HOST: how kernels access host memory that the box cannot map.
enum mapped_host {
    MAPPED_HOST_AUTO,   // the box mirrors memory as soon as a kernel may use it
    MAPPED_HOST_NO,     // they cannot; the box makes no mirrors
    MAPPED_HOST_MIRROR, // the box mirrors all page-locked memory from its allocation on
};
// Parses RGPU_MAPPED_HOST. If it is not set, *CHOICE is MAPPED_HOST_AUTO. Returns as above.
int mapped_host_choice(enum mapped_host *choice);
// Parses RGPU_PATHS, the copy paths to force, with copy_path_parse. *FORCED: PATH_BITs. Returns as
// above.
int paths_choice(unsigned *forced);
// Parses RGPU_RECONNECT. Returns how long a lost connection is waited for; 0: not at all. An
// invalid value is reported and ignored.
uint32_t reconnect_choice(void);

#endif
