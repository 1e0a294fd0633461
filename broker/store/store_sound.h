// SPDX-License-Identifier: BSD-3-Clause
// Checks the integrity of the database in a thread while the pool is loaded; the check takes as
// long as the loading.
#ifndef RGPU_BROKER_STORE_SOUND_H
#define RGPU_BROKER_STORE_SOUND_H

#include "broker/pool/outcome.h"

struct store_sound;

// Starts the check; the database must be open. Returns NULL without memory or a thread.
struct store_sound *store_sound_begin(const char *path);
// Waits for the result, which the thread has logged, and frees. Further calls return OUTCOME_DONE.
// The caller must write nothing before this returns.
enum outcome store_sound_end(struct store_sound **sound) __attribute__((warn_unused_result));

#endif
