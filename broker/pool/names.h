// SPDX-License-Identifier: BSD-3-Clause
// Resolves user ids to names for display. A name service may take seconds, so a thread queries it.
#ifndef RGPU_BROKER_NAMES_H
#define RGPU_BROKER_NAMES_H

#include <sys/types.h>

struct names;

// Returns NULL if memory is exhausted or no thread can start.
struct names *names_new(void);
void names_free(struct names **names);

// Returns the user's name, or the id as text if the name is not known yet. Valid until names_free;
// if NAMES is NULL, until the next call. Must be called by one thread only.
const char *names_of(struct names *names, uid_t uid);

#endif
