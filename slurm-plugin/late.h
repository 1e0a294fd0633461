// SPDX-License-Identifier: GPL-2.0-or-later
// Plugins of two halves: one that every daemon of Slurm can load, since it needs nothing, and beside
// it one that is loaded where it has work to do. A plugin that cannot be loaded ends slurmd and
// slurmctld, and with them the work of everybody who never asked for remote GPUs.
#ifndef RGPU_SLURM_LATE_H
#define RGPU_SLURM_LATE_H

// The half that comes late, declared by the one that is always there.
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
