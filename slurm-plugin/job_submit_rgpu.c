// SPDX-License-Identifier: GPL-2.0-or-later
// job_submit/rgpu: counts remote GPUs over the whole cluster. A node cannot count remote GPUs, so
// --gres=rgpu:N becomes licences here, at submission and at every change of the job. Requests that
// could not work are refused, with advice.
#include <stdlib.h>

#include "slurm-plugin/base/slurm_headers.h"

#include "slurm-plugin/gpus_options.h"
#include "slurm-plugin/base/license_entries.h"
#include "slurm-plugin/counts/licenses.h"
#include "slurm-plugin/request/job_request.h"

PLUGIN_IDENTITY("licences for remote GPUs", "job_submit/rgpu");

PLUGIN_EXPORT int init(void);
PLUGIN_EXPORT FINI_TYPE fini(void);
PLUGIN_EXPORT int job_submit(job_desc_msg_t *job, uint32_t submit_uid, char **message);
PLUGIN_EXPORT int job_modify(job_desc_msg_t *change, job_record_t *job,
                             uint32_t submit_uid MODIFY_MESSAGE(char **message));

int init(void)
{
    licenses_start();
    return SLURM_SUCCESS;
}

FINI_TYPE fini(void)
{
    licenses_stop();
    FINI_RETURN;
}

static int job_submit_rgpu_refuse(char **message, const char *why)
{
    info("job_submit/rgpu: refused: %s", why);
    if (message)
        *message = xstrdup(why);
    return ESLURM_INVALID_GRES;
}

// Only --gres counts per node; rgpu in other options would not be counted.
static bool asks_elsewhere(const job_desc_msg_t *job)
{
    const char *const fields[] = {job->tres_per_job, job->tres_per_socket, job->tres_per_task};

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i] && strstr(fields[i], "rgpu"))
            return true;
    return false;
}

// Licences are counted before nodes are chosen, so their number must be known: without -N it is
// one, as it is for most jobs. A job whose tasks fit no node would then wait for ever.
static const char *pin_nodes(job_desc_msg_t *job)
{
    return gpus_options_pin_nodes(job)
               ? NULL
               : "rgpu: a job with --gres=rgpu needs a fixed number of nodes: -N 4 rather than -N 2-4";
}

static uint32_t largest_node(void)
{
    uint32_t cpus = 0;
    node_record_t *node;

    for (int i = 0; (node = next_node(&i)); i++)
        if (node->cpus > cpus)
            cpus = node->cpus;
    return cpus;
}

// Returns true if slurm.conf gives nodes rgpu of this type.
static bool nodes_have_type(const char *type)
{
    bool found = false;
    char wanted[GPU_TYPE_MAX + 16];
    node_record_t *node;

    snprintf(wanted, sizeof(wanted), "rgpu:%s:", type);
    for (int i = 0; !found && (node = next_node(&i)); i++)
        found = node->config_ptr && xstrcasestr(node->config_ptr->gres, wanted);
    return found;
}

static void set_option(job_desc_msg_t *job, const char *name, const char *value)
{
    char *entry = xstrdup_printf("_SLURM_SPANK_OPTION_rgpu_%s=%s", name, value);
    size_t length = strcspn(entry, "=") + 1;

    for (uint32_t i = 0; i < job->spank_job_env_size; i++)
        if (!xstrncmp(job->spank_job_env[i], entry, length)) {
            xfree(job->spank_job_env[i]);
            job->spank_job_env[i] = entry;
            return;
        }
    xrecalloc(job->spank_job_env, job->spank_job_env_size + 2, sizeof(char *));
    job->spank_job_env[job->spank_job_env_size++] = entry;
}

// If no node has the type, Slurm would take the job for one that can never run: it gets its GPUs by
// a constraint instead. The steps of an srun would still name the type.
static const char *drop_type(job_desc_msg_t *job, const struct gpu_request *request)
{
    static _Thread_local char text[256];
    char *gres;

    if (!*request->type || nodes_have_type(request->type))
        return NULL;
    if (!job->script) {
        snprintf(text, sizeof(text),
                 "rgpu: no node has Gres=rgpu:%s:N; ask with "
                 "--gres=rgpu:%u --rgpu-constraint=model=*%s*",
                 request->type, request->per_node, request->type);
        return text;
    }
    gres = gpu_request_without_type(job->tres_per_node, request->type);
    if (!gres)
        return "rgpu: no memory";
    xfree(job->tres_per_node);
    job->tres_per_node = xstrdup(gres);
    free(gres);
    set_option(job, "rgpu_constraint", request->constraint);
    return NULL;
}

// Refuses a request that the pool can never meet.
static const char *check_pool(const struct gpu_request *request, uint32_t nodes)
{
    static _Thread_local char text[160];
    uint64_t known = licenses_known(), wanted = (uint64_t)request->per_node * nodes;

    if (known == 0 || wanted <= known)
        return NULL;
    snprintf(text, sizeof(text), "rgpu: the job asks for %llu GPUs%s, and the pool has %llu",
             (unsigned long long)wanted, nodes > 1 ? " on all its nodes" : "",
             (unsigned long long)known);
    return text;
}

static const char *check_size(const job_desc_msg_t *job)
{
    static _Thread_local char text[160];
    uint32_t tasks = job->num_tasks == NO_VAL ? 1 : job->num_tasks;
    uint32_t per_task = job->cpus_per_task == NO_VAL16 || !job->cpus_per_task ? 1
                                                                              : job->cpus_per_task;
    uint32_t largest = largest_node();

    if (largest == 0 || job->overcommit == 1 ||
        (uint64_t)tasks * per_task <= (uint64_t)largest * job->min_nodes)
        return NULL;
    snprintf(text, sizeof(text),
             "rgpu: %u tasks do not fit on %u node%s (the largest has %u CPUs); "
             "say how many nodes with -N",
             tasks, job->min_nodes, job->min_nodes == 1 ? "" : "s", largest);
    return text;
}

// Newer versions refuse licences of any part of a heterogeneous job but its first; those of the
// others are counted as soon as they are jobs, see count_part().
static bool takes_licenses_later(const job_desc_msg_t *job)
{
    return FIRST_PART_HAS_LICENSES && job->het_job_offset != NO_VAL && job->het_job_offset > 0;
}

int job_submit(job_desc_msg_t *job, uint32_t submit_uid, char **message)
{
    struct gpu_request request;
    char ours[GPU_LICENSES_MAX];
    const char *why;

    if (licenses_name_ours(job->licenses))
        return job_submit_rgpu_refuse(message,
                                      "rgpu: licences of rgpu come with --gres=rgpu:N; leave "
                                      "them out of -L");
    if (asks_elsewhere(job))
        return job_submit_rgpu_refuse(message,
                                      "rgpu: remote GPUs are asked for with --gres=rgpu:N");
    why = gpus_options_translate(job);
    if (why)
        return job_submit_rgpu_refuse(message, why);
    if (gpu_request_parse(job->tres_per_node, job->spank_job_env, job->spank_job_env_size, &request,
                          &why) < 0)
        return job_submit_rgpu_refuse(message, why);
    if (request.per_node == 0) {
        if (message && gpu_options_given(job->spank_job_env, job->spank_job_env_size))
            *message = xstrdup("rgpu: --rgpu-... without --gres=rgpu:N asks for no remote GPUs");
        return SLURM_SUCCESS;
    }
    why = pin_nodes(job);
    if (!why)
        why = check_size(job);
    if (!why)
        why = check_pool(&request, job->min_nodes);
    if (!why)
        why = drop_type(job, &request);
    if (!why && gpu_request_licenses(&request, job->min_nodes, ours, sizeof(ours)) < 0)
        why = "rgpu: more than any pool has";
    if (!why)
        why = licenses_impossible(&request, job->min_nodes);
    if (!why)
        why = licenses_want(&request, job->min_nodes, job->user_id);
    if (why)
        return job_submit_rgpu_refuse(message, why);
    return takes_licenses_later(job) ? SLURM_SUCCESS : license_text_set(&job->licenses, ours);
}

// ---- changes ----

// A job that has its GPUs keeps its licences, even if its request changes.
static int keep_licenses(job_desc_msg_t *change, const job_record_t *job)
{
    char *ours;
    int status;

    if (!change->licenses)
        return SLURM_SUCCESS;
    ours = licenses_select_ours(job->licenses);
    if (!ours)
        return ENOMEM;
    status = license_text_set(&change->licenses, ours);
    free(ours);
    return status;
}

static uint32_t changed_nodes(job_desc_msg_t *change, const job_record_t *job, const char **why)
{
    uint32_t low = job->details ? job->details->min_nodes : 1;
    uint32_t high = job->details && job->details->max_nodes ? job->details->max_nodes : low;

    if (change->min_nodes != NO_VAL && change->min_nodes)
        low = high = change->min_nodes;
    if (change->max_nodes != NO_VAL && change->max_nodes)
        high = change->max_nodes;
    else if (change->min_nodes != NO_VAL)
        change->max_nodes = low; // it was fixed before, and would be in the way of more
    if (low != high)
        *why = "rgpu: a job with --gres=rgpu needs a fixed number of nodes";
    return low;
}

// Other changes of a job, such as of its priority, must not depend on how many there are just now.
static bool has_licenses(const job_record_t *job, const char *ours)
{
    char *have = licenses_select_ours(job->licenses);
    bool same = have && licenses_same(have, ours);

    free(have);
    return same;
}

static int modify(job_desc_msg_t *change, job_record_t *job, char **message)
{
    const char *gres = change->tres_per_node ? change->tres_per_node : job->tres_per_node;
    struct gpu_request request;
    uint32_t nodes = 1;
    char ours[GPU_LICENSES_MAX];
    const char *why;

    if (asks_elsewhere(change))
        return job_submit_rgpu_refuse(message,
                                      "rgpu: remote GPUs are asked for with --gres=rgpu:N");
    if (!IS_JOB_PENDING(job))
        return keep_licenses(change, job);
    if (gpu_request_parse(gres, job->spank_job_env, job->spank_job_env_size, &request, &why) < 0)
        return job_submit_rgpu_refuse(message, why);
    if (request.per_node == 0 && !licenses_name_ours(job->licenses) &&
        !licenses_name_ours(change->licenses))
        return SLURM_SUCCESS;
    if (request.per_node)
        nodes = changed_nodes(change, job, &why);
    if (!why)
        why = check_pool(&request, nodes);
    if (!why && change->tres_per_node)
        why = drop_type(change, &request);
    if (!why && gpu_request_licenses(&request, nodes, ours, sizeof(ours)) < 0)
        why = "rgpu: more than any pool has";
    if (!why)
        why = licenses_impossible(&request, nodes);
    if (!why)
        why = licenses_want(&request, nodes, job->user_id);
    if (why)
        return job_submit_rgpu_refuse(message, why);
    if (!change->licenses && has_licenses(job, ours))
        return SLURM_SUCCESS;
    if (!change->licenses)
        change->licenses = xstrdup(job->licenses ? job->licenses : "");
    licenses_admit(ours);
    return license_text_set(&change->licenses, ours);
}

int job_modify(job_desc_msg_t *change, job_record_t *job,
               uint32_t submit_uid MODIFY_MESSAGE(char **message))
{
    return modify(change, job, MODIFY_MESSAGE_TO(message));
}
