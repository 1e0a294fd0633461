// SPDX-License-Identifier: GPL-2.0-or-later
// Plugins of two shared objects. Slurm loads the first half, which needs no other library, so that
// never fails. The first half loads the second one only in a daemon where the second has work to
// do. slurmd and slurmctld exit if a plugin cannot be loaded, and then jobs without remote GPUs
// could not run either.
#ifndef RGPU_SLURM_LATE_H
#define RGPU_SLURM_LATE_H

#include <stdint.h>

// The second half, declared by the first one.
struct late_half {
    const char *file; // file name, in the directory of the first half
    struct {
        const char *name;
        void *pointer; // address of the function pointer to set
    } functions[5];    // a NULL name ends the list
    void *library;     // handle of dlopen; NULL: not loaded
};

// Loads the second half and sets its function pointers. Returns NULL, or the reason why it cannot
// be used, valid until the next call.
const char *late_load(struct late_half *half) __attribute__((warn_unused_result));
// Does the same, and then calls the second half's function `init`. If that does not return 0, the
// second half is unloaded, which is an error as above.
const char *late_begin(struct late_half *half) __attribute__((warn_unused_result));
// Unloads the second half and sets its function pointers to NULL.
void late_unload(struct late_half *half);

// slurmd and slurmctld also exit if a plugin is of another version, as after an update of Slurm. So
// a first half says that it is of the running version. It does nothing if it was built for another
// one: what Slurm's functions and structures are like is unknown then.
enum { VERSION_TEXT_MAX = 240 };

// Returns the version of Slurm's own plugins in this process, in the form of SLURM_VERSION_NUMBER.
// Returns 0 if there are none yet.
uint32_t running_version(void);
// Writes what an administrator has to know of a plugin that was built for one version of Slurm and
// is loaded by another.
void running_version_text(uint32_t built, uint32_t running, char text[VERSION_TEXT_MAX]);

#endif
