// SPDX-License-Identifier: BSD-3-Clause
// A cgroup v2 for each process, below the one that systemd has delegated to the spawner's unit.
#ifndef RGPU_DAEMON_SPAWNER_CGROUP_H
#define RGPU_DAEMON_SPAWNER_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct cgroup_limits {
    uint64_t memory; // bytes, also of shared memory and of files; 0: none
    uint64_t swap;   // bytes of the machine's swap, with memory
    unsigned tasks;
};

// Divides the cgroup that this process is in: moves the process into a child of it, and makes
// another child for all cgroups of cgroup_make(), which have MEMORY bytes together (0: no limit).
// Returns the directory of that, or -errno, after which there are no cgroups: -ENOTSUP without
// cgroup v2.
int cgroup_open(uint64_t memory) __attribute__((warn_unused_result));
// The same with a directory that is named, for tests.
int cgroup_open_at(const char *path, uint64_t memory) __attribute__((warn_unused_result));
// Makes a child of ROOT with these limits. Returns its directory or -errno. Limits that are not
// delegated are logged once.
int cgroup_make(int root, const char *name, const struct cgroup_limits *limits)
    __attribute__((warn_unused_result));
// Kills the processes in it and removes it. Returns false while processes are still ending; the
// caller tries again.
bool cgroup_remove(int root, const char *name);

#endif
