// SPDX-License-Identifier: BSD-3-Clause
// What a session knows of the paths of its copies: what the box has kept for this host, what copies have shown since
// then, and which paths are forced.
#ifndef RGPU_CLIENT_KNOWN_PATHS_H
#define RGPU_CLIENT_KNOWN_PATHS_H

#include "client-lib/session/box_session.h"
#include "common/path_table.h"

struct known_paths {
    unsigned allowed; // PATH_BITs of those that are used where they can be
    // Of the table. Who does not get it at once goes without: a time more or less tells little.
    atomic_flag busy;
    struct path_table table;
    _Atomic uint32_t
        news[PATH_USES][PATH_PATTERNS]; // a bit for each size that the box is to be told of
    _Atomic bool any_news;
    // What the box said, until there is a link.
    struct path_kept *kept;
    size_t kept_count;
};

// What the box knows: a section of its WELCOME, which is believed as far as it can be right. Without memory it is forgotten.
void known_paths_keep(struct box_session *session, const void *section, size_t size);
// Takes over what was kept for the session's transport, and forgets the rest. Without it what was kept is lost memory.
void known_paths_learn(struct box_session *session);
// Makes session->paths, which is freed with the session. -ENOMEM.
int known_paths_start(struct box_session *session, unsigned allowed);
// The path for a copy, one of USABLE. TRIAL: its time will be told, so that it may be one of which little is known.
// *OPEN: the choice is not settled.
enum path known_path(struct box_session *session, struct path_place place, unsigned usable,
                     enum path usual, bool trial, bool *open);
void known_path_took(struct box_session *session, struct path_place place, enum path path,
                     uint64_t ns);
// Whether anything has settled since this was asked last; then known_paths_news gives the rows, some at a time, until
// there are none.
bool known_paths_any_news(struct box_session *session);
unsigned known_paths_news(struct box_session *session, struct path_row rows[PATH_SIZES]);

#endif
