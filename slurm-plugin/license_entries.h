// SPDX-License-Identifier: GPL-2.0-or-later
// Entries of slurmctld's list of licences and of the lists of its jobs. slurmctld reads and
// replaces its list with the configuration locked, and takes and returns licences with the jobs
// locked: with both, an entry may be changed in place. Callers of all functions hold both.
#ifndef RGPU_SLURM_LICENSE_ENTRIES_H
#define RGPU_SLURM_LICENSE_ENTRIES_H

#include "slurm-plugin/slurm_headers.h"

// slurmctld's own list, or NULL where it counts no licences.
slurm_list license_entries_all(void);
// NULL: the list has none, or there is no list.
licenses_t *license_entry_find(slurm_list list, const char *name);
licenses_t *license_entry_add(slurm_list list, const char *name, uint32_t total);
// Sets how many of a licence a job takes; 0 removes the entry.
void license_entry_take(job_record_t *job, const char *name, uint32_t count);
// Removes a licence from slurmctld's own list.
void license_entry_remove(const char *name);
// Returns true if there are more free ones than before.
bool license_entry_set(const char *name, uint64_t total, uint64_t used);

#endif
