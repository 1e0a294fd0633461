/* rgpu-slurm-sync's half towards slurmctld. */
#include "slurm-plugin/sync_slurm.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/request.h"

/* A reservation without end lasts a year in some versions: renewed in good time. */
enum { RENEW_BEFORE_SECONDS = 90 * 86400 };

static char problem[256];

static int explain(const char *what)
{
    snprintf(problem, sizeof(problem), "%s: %s", what, slurm_strerror(errno));
    return -EREMOTEIO;
}

void sync_slurm_start(void)
{
    slurm_init(NULL);
}

const char *sync_slurm_error(void)
{
    return problem;
}

/* ---- jobs ---- */

static bool asks(const char *gres)
{
    struct gpu_request request;
    const char *why;

    return gpu_request_parse(gres, NULL, 0, &request, &why) == 0 && request.per_node > 0;
}

static void read_job(const job_info_t *job, struct live_job *out)
{
    uint32_t base = job->job_state & JOB_STATE_BASE;

    *out = (struct live_job){
        .id = job->job_id,
        .start = job->start_time,
        .live = base == JOB_RUNNING || base == JOB_SUSPENDED ||
                (job->job_state & (JOB_COMPLETING | JOB_CONFIGURING)),
        .asks = asks(job->tres_per_node),
    };
}

int sync_slurm_jobs(struct job_table *table)
{
    job_info_msg_t *message = NULL;

    if (slurm_load_jobs(0, &message, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
        return explain("jobs");
    table->count = message->record_count;
    table->jobs = calloc(table->count + 1, sizeof(*table->jobs));
    for (size_t i = 0; table->jobs && i < table->count; i++)
        read_job(&message->job_array[i], &table->jobs[i]);
    slurm_free_job_info_msg(message);
    if (!table->jobs)
        return -ENOMEM;
    job_table_sort(table);
    return 0;
}

/* ---- licences ---- */

int sync_slurm_licenses(struct capacity *total)
{
    license_info_msg_t *message = NULL;
    bool found = false;

    if (slurm_load_licenses(0, &message, SHOW_ALL) != SLURM_SUCCESS)
        return explain("licences");
    memset(total, 0, sizeof(*total));
    for (uint32_t i = 0; i < message->num_lic; i++) {
        const slurm_license_info_t *license = &message->lic_array[i];
        if (!strcmp(license->name, "rgpu"))
            total->gpus = license->total;
        else if (!strcmp(license->name, "rgpu_mem"))
            total->memory = license->total;
        else
            continue;
        found = true;
    }
    slurm_free_license_info_msg(message);
    return found ? 0 : -ENOENT;
}

/* ---- the reservation ---- */

static const reserve_info_t *find_reservation(const reserve_info_msg_t *message, const char *name)
{
    for (uint32_t i = 0; i < message->record_count; i++)
        if (!strcmp(message->reservation_array[i].name, name))
            return &message->reservation_array[i];
    return NULL;
}

static int create(const char *name, const char *licenses)
{
    resv_desc_msg_t request;
    char *made;

    slurm_init_resv_desc_msg(&request);
    request.name = (char *)name;
    request.licenses = (char *)licenses;
    request.users = (char *)"root";
    request.flags = RESERVE_FLAG_ANY_NODES | RESERVE_FLAG_IGN_JOBS;
    request.start_time = time(NULL);
    request.duration = INFINITE;
    made = slurm_create_reservation(&request);
    if (!made)
        return explain("reservation");
    free(made);
    return 0;
}

static int update(const char *name, const char *licenses)
{
    resv_desc_msg_t request;

    slurm_init_resv_desc_msg(&request);
    request.name = (char *)name;
    request.licenses = (char *)licenses;
    request.duration = INFINITE;
    return slurm_update_reservation(&request) == SLURM_SUCCESS ? 0 : explain("reservation");
}

static int remove_reservation(const char *name)
{
    reservation_name_msg_t request = {.name = (char *)name};

    return slurm_delete_reservation(&request) == SLURM_SUCCESS ? 0 : explain("reservation");
}

/* "a:1,b:2" may come back in another order. */
static bool same_licenses(const char *have, const char *want)
{
    const char *comma = strchr(want, ',');
    char other[128];

    if (!have || !comma)
        return have && !strcmp(have, want);
    snprintf(other, sizeof(other), "%s,%.*s", comma + 1, (int)(comma - want), want);
    return !strcmp(have, want) || !strcmp(have, other);
}

int sync_slurm_park(const char *name, const char *licenses)
{
    reserve_info_msg_t *message = NULL;
    const reserve_info_t *now;
    int error = 0;

    if (slurm_load_reservations(0, &message) != SLURM_SUCCESS)
        return explain("reservations");
    now = find_reservation(message, name);
    if (!now && *licenses)
        error = create(name, licenses);
    else if (now && !*licenses)
        error = remove_reservation(name);
    else if (now && (!same_licenses(now->licenses, licenses) ||
                     now->end_time - time(NULL) < RENEW_BEFORE_SECONDS))
        error = update(name, licenses);
    slurm_free_reservation_info_msg(message);
    return error;
}
