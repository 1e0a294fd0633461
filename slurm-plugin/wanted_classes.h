// SPDX-License-Identifier: GPL-2.0-or-later
// The classes of requests that are counted: those that jobs name, and that of any GPUs.
// Thread-safe.
#ifndef RGPU_SLURM_WANTED_CLASSES_H
#define RGPU_SLURM_WANTED_CLASSES_H

#include "slurm-plugin/count.h"

void wanted_start(void);
void wanted_stop(void);
// Copies the classes for the next question; count_clear frees them.
void wanted_copy(struct count *count);
// A job that has not ended names the class.
void wanted_note(const char *name);
bool wanted_has(const char *name);
// Adds the class of a request of OWNER and sets *is_new if it was not there. Returns false without
// memory or if there are too many classes.
bool wanted_add(const struct gpu_request *request, uint32_t nodes, uint32_t owner, bool *is_new);
// Returns why no job of OWNER may ask for the class, or NULL.
const char *wanted_refusal(const char *name, uint32_t owner);
// Forgets the classes that no job has named for a while.
void wanted_forget(void);
// Calls a function with the name of each class.
void wanted_each(void (*call)(const char *name));

#endif
