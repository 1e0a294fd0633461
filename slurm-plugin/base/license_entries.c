// SPDX-License-Identifier: GPL-2.0-or-later
// See license_entries.h.
#include "slurm-plugin/base/license_entries.h"

#include <stdlib.h>

#include "common/base/assert.h"
#include "slurm-plugin/request/job_request.h"

// Its name differs between versions.
extern slurm_list license_list, cluster_license_list;
#pragma weak license_list
#pragma weak cluster_license_list

enum { REMOVED_MAX = 256 };

// Slurm itself numbers licences from 0 on.
enum { FIRST_ID = 0x8000, LAST_ID = 0xfff0 };

slurm_list license_entries_all(void)
{
    return &license_list ? license_list : &cluster_license_list ? cluster_license_list : NULL;
}

static int license_has_name(void *entry, void *name)
{
    return !xstrcmp(((licenses_t *)entry)->name, name);
}

licenses_t *license_entry_find(slurm_list list, const char *name)
{
    return list ? list_find_first(list, license_has_name, (void *)name) : NULL;
}

static int license_has_id(void *entry, void *id)
{
    return license_id(entry) == *(uint16_t *)id;
}

// Returns a number that no licence of slurmctld has, and none had for long.
static uint16_t license_new_id(void)
{
    static uint16_t last = FIRST_ID;

    do
        last = last < LAST_ID ? last + 1 : FIRST_ID;
    while (list_find_first(license_entries_all(), license_has_id, &last));
    return last;
}

static uint16_t license_id_of(const char *name)
{
    const licenses_t *entry = license_entry_find(license_entries_all(), name);

    return entry ? license_id(entry) : license_new_id();
}

licenses_t *license_entry_add(slurm_list list, const char *name, uint32_t total)
{
    licenses_t *entry = xmalloc(sizeof(*entry));

    entry->name = xstrdup(name);
    entry->total = total;
    license_set_id(entry, license_id_of(name));
    if (list == license_entries_all())
        entry->remote = STAYS_AT_RECONFIGURE;
    list_append(list, entry);
    // Backfill copies the list when it begins and expects that no job names another licence. It
    // ends at its next pause when a reservation has changed.
    if (list == license_entries_all())
        last_resv_update = MAX(time(NULL), last_resv_update + 1);
    return entry;
}

void license_entry_ensure(const char *name)
{
    if (!license_entry_find(license_entries_all(), name))
        license_entry_add(license_entries_all(), name, 0);
}

uint32_t license_entry_count(const job_record_t *job, const char *name)
{
    const licenses_t *entry = license_entry_find(job->license_list, name);

    return entry ? entry->total : 0;
}

void license_entry_take(job_record_t *job, const char *name, uint32_t count)
{
    licenses_t *entry = license_entry_find(job->license_list, name);

    if (count == 0) {
        if (entry)
            list_delete_first(job->license_list, license_has_name, (void *)name);
        return;
    }
    if (!job->license_list)
        job->license_list = list_create(license_free_rec);
    if (!entry)
        entry = license_entry_add(job->license_list, name, count);
    entry->total = count;
    license_set_id(entry, license_id_of(name));
}

void license_class_of(const job_record_t *job, char name[GPU_CLASS_MAX])
{
    gpu_class_in(job->licenses, name);
    if (!*name)
        strcpy(name, GPU_CLASS_ANY);
}

static int is_class_of_others(void *x, void *own)
{
    const licenses_t *entry = x;

    return gpu_is_class(entry->name) && strcmp(entry->name, own) != 0;
}

void license_entries_keep(job_record_t *job, const char *class)
{
    if (job->license_list)
        list_delete_all(job->license_list, is_class_of_others, (void *)class);
}

// slurmctld answers queries about licences without a lock that this plugin could take. So a licence
// that was removed from the list stays in memory until many others have been removed after it.
void license_entry_remove(const char *name)
{
    static licenses_t *removed[REMOVED_MAX];
    static size_t next;
    licenses_t *entry = list_remove_first(license_entries_all(), license_has_name, (void *)name);

    if (removed[next])
        license_free_rec(removed[next]);
    removed[next] = entry;
    next = (next + 1) % REMOVED_MAX;
    last_license_update = time(NULL);
}

static uint64_t license_free_of(uint64_t total, uint64_t used)
{
    return total > used ? total - used : 0;
}

bool license_entry_set(const char *name, uint64_t total, uint64_t used)
{
    licenses_t *entry = license_entry_find(license_entries_all(), name);
    bool more;

    if (!entry)
        return false;
    if (total > INT32_MAX)
        total = INT32_MAX;
    RGPU_ASSERT(used <= total || !gpu_is_class(name));
    more = license_free_of(total, used) > license_free_of(entry->total, entry->used);
    if (entry->total != total || entry->used != used)
        last_license_update = time(NULL);
    entry->total = (uint32_t)total;
    entry->used = (uint32_t)used;
    return more;
}

// Returns the licences of a text as a list of its own, without those of classes, or NULL if
// slurmctld lacks one of them.
static slurm_list read_licenses(const char *text)
{
    slurm_list list = list_create(license_free_rec);
    char *copy = xstrdup(text), *position = NULL;

    for (char *name = strtok_r(copy, ",;", &position); name && list;
         name = strtok_r(NULL, ",;", &position)) {
        char *count = strpbrk(name, ":=");
        if (count)
            *count++ = '\0';
        if (gpu_is_class(name))
            continue;
        if (license_entry_find(license_entries_all(), name))
            license_entry_add(list, name, count ? (uint32_t)strtoul(count, NULL, 10) : 1);
        else
            FREE_NULL_LIST(list);
    }
    xfree(copy);
    return list;
}

// Slurm 26.05 validates waiting jobs when it starts. A job with a licence that slurm.conf lacks, as
// it lacks classes, loses all its licences and is held.
void license_take_back(job_record_t *job)
{
    if (job->license_list || !licenses_name_ours(job->licenses))
        return;
    job->license_list = read_licenses(job->licenses);
    if (!job->license_list || job->priority || job->state_reason != WAIT_HELD ||
        !xstrcasestr(job->state_desc, "license request"))
        return;
    info("job_submit/rgpu: %pJ has its licences back and is released", job);
    job->direct_set_prio = 0;
    set_job_prio(job);
    job->state_reason = WAIT_NO_REASON;
    xfree(job->state_desc);
    last_job_update = time(NULL);
}

int license_text_set(char **licenses, const char *ours)
{
    char *text = licenses_replace(*licenses, ours);

    if (!text)
        return ENOMEM;
    xfree(*licenses);
    *licenses = xstrdup(text);
    free(text);
    return SLURM_SUCCESS;
}
