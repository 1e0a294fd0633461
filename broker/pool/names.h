// SPDX-License-Identifier: BSD-3-Clause
// Resolves users' names for display. A name service may take seconds, so a thread queries it; until
// it has answered, the number is used.
#ifndef RGPU_BROKER_NAMES_H
#define RGPU_BROKER_NAMES_H

#include <sys/types.h>

struct names;

// Returns NULL without memory or a thread.
struct names *names_new(void);
void names_free(struct names **names);

// Returns the user's name, or the number as text; valid until names_free. For one thread only.
// NAMES may be NULL: the text is then the number and valid until the next call.
const char *names_of(struct names *names, uid_t uid);

#endif
