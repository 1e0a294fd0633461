// SPDX-License-Identifier: GPL-2.0-or-later
// See sync_accounting.h.
#include "slurm-plugin/sync/sync_accounting.h"

#include <slurm/slurm.h>
#include <slurm/slurmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "slurm-plugin/base/slurm_versions.h"

// Lists are named by their tags here, which all versions of Slurm have; what stands for them
// differs.
struct accounts {
    void *connection;
    char cluster[128];
};

// "": there is no accounting.
static bool read_cluster(char *cluster, size_t size)
{
    slurm_conf_t *conf = NULL;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
        return false;
    *cluster = '\0';
    if (conf->accounting_storage_type && strstr(conf->accounting_storage_type, "slurmdbd"))
        snprintf(cluster, size, "%s", conf->cluster_name ? conf->cluster_name : "");
    slurm_free_conf(conf);
    return true;
}

struct accounts *accounting_open(bool *none)
{
    struct accounts *accounts = calloc(1, sizeof(*accounts));
    uint16_t flags = 0;

    *none = false;
    if (accounts && read_cluster(accounts->cluster, sizeof(accounts->cluster))) {
        *none = !*accounts->cluster;
        accounts->connection = *none ? NULL : slurmdb_connection_get(&flags);
    }
    if (accounts && !accounts->connection)
        accounting_close(&accounts);
    return accounts;
}

void accounting_close(struct accounts **accounts)
{
    if (*accounts && (*accounts)->connection)
        slurmdb_connection_close(&(*accounts)->connection);
    free(*accounts);
    *accounts = NULL;
}

// ---- one job ----

// The newest run of a job, and nothing else.
struct job_query {
    slurmdb_job_cond_t condition;
    slurm_selected_step_t job;
};

static void sync_accounting_ask_for(struct job_query *question, const struct accounts *accounts,
                                    uint32_t job)
{
    memset(question, 0, sizeof(*question));
    question->job.array_task_id = question->job.het_job_offset = NO_VAL;
    question->job.step_id =
        (slurm_step_id_t){.job_id = job, .step_het_comp = NO_VAL, .step_id = NO_VAL};
    question->condition.db_flags = SLURMDB_JOB_FLAG_NOTSET;
    question->condition.flags = JOBCOND_FLAG_NO_DEFAULT_USAGE | JOBCOND_FLAG_NO_STEP;
    question->condition.step_list = slurm_list_create(NULL);
    slurm_list_append(question->condition.step_list, &question->job);
    question->condition.cluster_list = slurm_list_create(NULL);
    slurm_list_append(question->condition.cluster_list, (void *)accounts->cluster);
}

static void sync_accounting_forget(struct job_query *question)
{
    slurm_list_destroy(question->condition.step_list);
    slurm_list_destroy(question->condition.cluster_list);
}

static enum accounting_outcome write_comment(const struct accounts *accounts,
                                             struct job_query *question, char *comment)
{
    slurmdb_job_rec_t change = {
        .admin_comment = comment,
        .array_task_id = NO_VAL,
        .derived_ec = NO_VAL,
        UNSET_LFT.resvid = NO_VAL,
    };
    struct xlist *changed = slurmdb_job_modify(accounts->connection, &question->condition, &change);

    if (!changed)
        return ACCOUNTING_AWAY;
    slurm_list_destroy(changed);
    slurmdb_connection_commit(accounts->connection, true);
    return ACCOUNTING_DONE;
}

static enum accounting_outcome sync_accounting_note(const struct accounts *accounts,
                                                    struct job_query *question,
                                                    const slurmdb_job_rec_t *record, time_t start,
                                                    const struct busy_use *use)
{
    char comment[BUSY_NOTE_MAX];

    // A run before a record's own, of a job that was requeued, has no record that could be named.
    if (record->start > start)
        return ACCOUNTING_DONE;
    // The names of its GPUs are written with its end.
    if (record->start != start || !record->end || !record->admin_comment || !*record->admin_comment)
        return ACCOUNTING_LATER;
    if (!busy_note(record->admin_comment, use, comment))
        return ACCOUNTING_DONE;
    return write_comment(accounts, question, comment);
}

enum accounting_outcome accounting_note_busy(const struct accounts *accounts, uint32_t job,
                                             time_t start, const struct busy_use *use)
{
    enum accounting_outcome outcome = ACCOUNTING_AWAY;
    const slurmdb_job_rec_t *record;
    struct job_query question;
    struct listIterator *iterator;
    struct xlist *records;

    sync_accounting_ask_for(&question, accounts, job);
    records = slurmdb_jobs_get(accounts->connection, &question.condition);
    if (records) {
        iterator = slurm_list_iterator_create(records);
        record = slurm_list_next(iterator);
        outcome = record ? sync_accounting_note(accounts, &question, record, start, use)
                         : ACCOUNTING_LATER;
        slurm_list_iterator_destroy(iterator);
        slurm_list_destroy(records);
    }
    sync_accounting_forget(&question);
    return outcome;
}
