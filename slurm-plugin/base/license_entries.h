// SPDX-License-Identifier: GPL-2.0-or-later
// Entries of slurmctld's list of licences and of the lists of its jobs. Callers of all functions
// hold slurmctld's locks of the configuration and of the jobs: slurmctld reads and replaces its
// list under the first, and changes the counts of entries under the second.
#ifndef RGPU_SLURM_LICENSE_ENTRIES_H
#define RGPU_SLURM_LICENSE_ENTRIES_H

#include "slurm-plugin/request/job_request.h"
#include "slurm-plugin/base/slurm_headers.h"

// Returns slurmctld's own list, or NULL if slurmctld counts no licences.
slurm_list license_entries_all(void);
// Returns the entry of a licence, which the list owns. Returns NULL if it has none or LIST is NULL.
licenses_t *license_entry_find(slurm_list list, const char *name);
// Adds an entry, which the list owns, and returns it.
licenses_t *license_entry_add(slurm_list list, const char *name, uint32_t total);
// Adds a licence to slurmctld's own list, with a total of 0, if it has none of this name.
void license_entry_ensure(const char *name);
// Returns the number of a licence in a job's list.
uint32_t license_entry_count(const job_record_t *job, const char *name);
// Sets the number of a licence in a job's list; 0 removes the entry.
void license_entry_take(job_record_t *job, const char *name, uint32_t count);
// Writes the name of the class that the job asks for.
void license_class_of(const job_record_t *job, char name[GPU_CLASS_MAX]);
// Removes all classes but one, or all for "", from a job's list.
void license_entries_keep(job_record_t *job, const char *class);
// Removes a licence from slurmctld's own list.
void license_entry_remove(const char *name);
// Sets the total and the used number of a licence in slurmctld's own list. Returns true if more are
// free than before.
bool license_entry_set(const char *name, uint64_t total, uint64_t used);

// Gives a waiting job the licences of its text again if it has lost them, and releases it if it is
// held because of that.
void license_take_back(job_record_t *job);

// Replaces rgpu's licences in the text *LICENSES of a job or a submission by OURS. Needs no lock
// for a submission. Returns SLURM_SUCCESS or ENOMEM.
int license_text_set(char **licenses, const char *ours);

#endif
