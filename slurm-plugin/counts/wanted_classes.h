// SPDX-License-Identifier: GPL-2.0-or-later
// The classes of requests (gpu_request_class) that are counted inside slurmctld: the classes that
// jobs name, and GPU_CLASS_ANY. All functions are thread-safe.
#ifndef RGPU_SLURM_WANTED_CLASSES_H
#define RGPU_SLURM_WANTED_CLASSES_H

#include "slurm-plugin/counts/count.h"

// Begins with GPU_CLASS_ANY alone.
void wanted_start(void);
// Frees all classes.
void wanted_stop(void);
// Copies the classes to COUNT for the next question; count_clear frees the copies.
void wanted_copy(struct count *count);
// Notes the time at which a job that has not ended was seen to name the class.
void wanted_note(const char *name);
// Returns true if the class is counted.
bool wanted_has(const char *name);
// Adds the class of a request by the user OWNER, and sets *is_new to true if it was not there.
// Returns false if memory is exhausted or there are too many classes.
bool wanted_add(const struct gpu_request *request, uint32_t nodes, uint32_t owner, bool *is_new);
// Returns the reason why no job of the user OWNER may name the class, valid until the thread's next
// call, or NULL if one may.
const char *wanted_refusal(const char *name, uint32_t owner);
// Forgets the classes that no job has named for a while.
void wanted_forget(void);
// Calls a function with the name of each class. The function must not call this module.
void wanted_each(void (*call)(const char *name));

#endif
