// SPDX-License-Identifier: BSD-3-Clause
// Stores what a session knows of its copy paths: the box's earlier results for this host, results
// of this session's copies, and forced paths.
#ifndef RGPU_CLIENT_KNOWN_PATHS_H
#define RGPU_CLIENT_KNOWN_PATHS_H

#include "client-lib/cuda/session/box_session.h"
#include "common/base/path_table.h"

struct known_paths {
    unsigned allowed; // PATH_BITs of forced paths; 0: none
    // Protects the table. A thread that cannot take it at once skips its measurement, because one
    // sample matters little.
    atomic_flag busy;
    struct path_table table;
    _Atomic uint32_t news[PATH_USES][PATH_PATTERNS]; // a bit for each size to report to the box
    _Atomic bool any_news;
    // Results from the box, until the link exists.
    struct path_kept *kept;
    size_t kept_count;
};

// Stores a section of the box's WELCOME, as far as it is valid. Without memory the results are
// lost.
void known_paths_keep(struct box_session *session, const void *section, size_t size);
// Takes over the stored results of the session's transport and frees the others.
void known_paths_learn(struct box_session *session);
// Makes session->paths, which is freed with the session. Returns 0 or -ENOMEM.
int known_paths_start(struct box_session *session, unsigned allowed);
// Returns the path for a copy, one of USABLE. TRIAL: the caller will report the copy's time, so the
// path may be one with few measurements. Sets *OPEN if the choice is not settled.
enum path known_path(struct box_session *session, struct path_place place, unsigned usable,
                     enum path usual, bool trial, bool *open);
void known_path_took(struct box_session *session, struct path_place place, enum path path,
                     uint64_t ns);
// Returns true if results have settled since the last call. Then known_paths_news returns rows, a
// few per call, until it returns 0.
bool known_paths_any_news(struct box_session *session);
unsigned known_paths_news(struct box_session *session, struct path_row rows[PATH_SIZES]);

#endif
