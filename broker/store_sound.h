// SPDX-License-Identifier: BSD-3-Clause
// Whether the database is sound, found out in a thread of its own while the pool is read from it: the look
// takes as long as the reading.
#ifndef RGPU_BROKER_STORE_SOUND_H
#define RGPU_BROKER_STORE_SOUND_H

#include "broker/outcome.h"

struct store_sound;

// NULL: no memory or no thread. The database must be open already.
struct store_sound *store_sound_begin(const char *path);
// Waits for the verdict, which the thread has logged, and frees. Asked again it says OUTCOME_DONE.
// Until then nothing may be written.
enum outcome store_sound_end(struct store_sound **sound) __attribute__((warn_unused_result));

#endif
