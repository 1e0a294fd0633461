// SPDX-License-Identifier: GPL-2.0-or-later
// Plugins of two shared objects. Slurm loads the first half, which needs no other library, so that
// never fails. The first half loads the second one only in a daemon where the second has work to
// do. slurmd and slurmctld exit if a plugin cannot be loaded, and then jobs without remote GPUs
// could not run either.
#ifndef RGPU_SLURM_LATE_H
#define RGPU_SLURM_LATE_H

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

#endif
