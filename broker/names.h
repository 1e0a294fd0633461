// SPDX-License-Identifier: BSD-3-Clause
// Users' names for people. A name service may take seconds, so a thread asks it, and until it has
// answered there is the number.
#ifndef RGPU_BROKER_NAMES_H
#define RGPU_BROKER_NAMES_H

#include <sys/types.h>

struct names;

// NULL: out of memory, or no thread.
struct names *names_new(void);
void names_free(struct names **names);

// The user's name, or his number as text; valid until names_free. From one thread only. NAMES may be
// NULL: then there are only numbers, and the text is valid until the next call.
const char *names_of(struct names *names, uid_t uid);

#endif
