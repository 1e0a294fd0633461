// SPDX-License-Identifier: GPL-2.0-or-later
// Plugins of two halves. Every daemon of Slurm can load the first half, because it needs no other
// library; it loads the second half only on a daemon where that has work to do. slurmd and
// slurmctld exit if a plugin cannot be loaded, which would also stop the jobs that use no remote
// GPUs.
#ifndef RGPU_SLURM_LATE_H
#define RGPU_SLURM_LATE_H

// The second half, as the first half declares it.
struct late_half {
    const char *file; // in the directory of the plugin
    struct {
        const char *name;
        void *pointer; // to the variable that points to the function
    } functions[5];
    void *library; // NULL while it is not there
};

// Loads it and finds its functions. Returns NULL, or why it cannot be used: a sentence that lives
// until the next call.
const char *late_load(struct late_half *half) __attribute__((warn_unused_result));
// The same, and lets it begin: its function `init` returns 0 where it can work.
const char *late_begin(struct late_half *half) __attribute__((warn_unused_result));
void late_unload(struct late_half *half);

#endif
