// SPDX-License-Identifier: BSD-3-Clause
// A cgroup (v2) for each process, below the cgroup that systemd has delegated to the spawner's
// unit.
#ifndef RGPU_DAEMON_SPAWNER_CGROUP_H
#define RGPU_DAEMON_SPAWNER_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct cgroup_limits {
    uint64_t memory; // bytes, including shared memory and page cache; 0: no limit
    uint64_t swap;   // bytes of swap; only with `memory`
    unsigned tasks;
};

// Moves this process to a new child of its cgroup, and creates another child for all later
// cgroup_make(), whose sum is limited to MEMORY bytes (0: no limit). Returns the directory of the
// second child, or -errno, after which processes get no cgroups: -ENOTSUP without cgroup v2.
int cgroup_open(uint64_t memory) __attribute__((warn_unused_result));
// As cgroup_open(), below the directory PATH; for tests.
int cgroup_open_at(const char *path, uint64_t memory) __attribute__((warn_unused_result));
// Creates a child of ROOT with these limits. Returns its directory or -errno. Controllers that are
// not delegated are logged once.
int cgroup_make(int root, const char *name, const struct cgroup_limits *limits)
    __attribute__((warn_unused_result));
// Kills the processes in a child and removes it. Returns false while some still exist; the caller
// must try again.
bool cgroup_remove(int root, const char *name);

#endif
