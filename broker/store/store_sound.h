// SPDX-License-Identifier: BSD-3-Clause
// Checks the integrity of the database, also in a thread while the pool is loaded.
#ifndef RGPU_BROKER_STORE_SOUND_H
#define RGPU_BROKER_STORE_SOUND_H

#include <sqlite3.h>

#include "broker/pool/outcome.h"

struct store_sound;

// Returns OUTCOME_DATABASE_DAMAGED after logging the first problem.
enum outcome store_sound_check(sqlite3 *database) __attribute__((warn_unused_result));

// Starts the check. The database must be open. Returns NULL if memory is exhausted or no thread can
// start.
struct store_sound *store_sound_begin(const char *path);
// Waits for the check, frees, and returns its outcome; problems are logged. Returns OUTCOME_DONE if
// *SOUND is NULL. The caller must not write to the database before.
enum outcome store_sound_end(struct store_sound **sound) __attribute__((warn_unused_result));

#endif
