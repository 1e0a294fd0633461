// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/gpus_options.h"

#include <stdlib.h>

#include "slurm-plugin/request/gres_text.h"
#include "slurm-plugin/request/job_request.h"
#include "slurm-plugin/counts/licenses.h"

static bool nodes_have_gpus(void)
{
    node_record_t *node;

    for (int i = 0; (node = next_node(&i)); i++)
        if (node->config_ptr && gres_text_has_gpus(node->config_ptr->gres))
            return true;
    return !VISITS_NODES;
}

static bool has_count(uint32_t count)
{
    return count && count != NO_VAL;
}

// The number of tasks and of tasks on a node give the number of nodes.
static uint32_t nodes_of_tasks(const job_desc_msg_t *job)
{
    uint32_t on_node = job->ntasks_per_node;

    if (job->num_tasks == NO_VAL || on_node == NO_VAL16 || on_node == 0)
        return 1;
    return (job->num_tasks + on_node - 1) / on_node;
}

uint32_t gpus_options_pin_nodes(job_desc_msg_t *job)
{
    bool no_minimum = !has_count(job->min_nodes), no_maximum = !has_count(job->max_nodes);

    if (no_minimum && no_maximum)
        job->min_nodes = job->max_nodes = nodes_of_tasks(job);
    else if (no_minimum)
        job->min_nodes = job->max_nodes;
    else if (no_maximum)
        job->max_nodes = job->min_nodes;
    return job->min_nodes == job->max_nodes ? job->min_nodes : 0;
}

// ---- remote GPUs ----

// A sum of GPUs: of one option, for the whole job.
struct gpus_sum {
    uint64_t gpus;
    unsigned options; // that ask for GPUs
    char type[GPU_TYPE_MAX];
    const char *why;
};

static void sum_gpus(struct gpus_sum *sum, const char *tres, uint64_t times)
{
    struct gpu_request request = {.per_node = 0};
    char *text = gres_text_gpus_as_rgpu(tres);

    if (text && *text &&
        (gpu_request_parse(text, NULL, 0, &request, &sum->why) < 0 || request.per_node == 0))
        sum->why = "rgpu: --gpus and the like take a count, or a model and a count";
    if (request.per_node) {
        sum->options++;
        sum->gpus += request.per_node * times;
        memcpy(sum->type, request.type, sizeof(sum->type));
    }
    free(text);
}

static void drop_gpus(char **tres)
{
    char *rest = gres_text_without_gpus(*tres);

    xfree(*tres);
    if (rest && *rest)
        *tres = xstrdup(rest);
    free(rest);
}

// Steps of the job would ask for GPUs of nodes by these.
static void drop_variables(job_desc_msg_t *job)
{
    static const char *const names[] = {"SLURM_GPUS=", "SLURM_GPUS_PER_NODE=",
                                        "SLURM_GPUS_PER_TASK=", "SLURM_TRES_PER_TASK="};
    uint32_t kept = 0;

    for (uint32_t i = 0; i < job->env_size; i++) {
        bool drop = false;
        for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
            drop |= !xstrncmp(job->environment[i], names[n], strlen(names[n]));
        if (drop)
            xfree(job->environment[i]);
        else
            job->environment[kept++] = job->environment[i];
    }
    if (kept < job->env_size)
        job->environment[kept] = NULL;
    job->env_size = kept;
}

static const char *without_meaning(const job_desc_msg_t *job)
{
    if (!job->script)
        return "rgpu: --gpus means remote GPUs in this partition, and srun and salloc cannot ask so: "
               "ask with --gres=rgpu:N, N for each node";
    if (gres_text_has_gpus(job->tres_per_socket) || job->cpus_per_tres || job->mem_per_tres ||
        has_count(job->ntasks_per_tres == NO_VAL16 ? 0 : job->ntasks_per_tres))
        return "rgpu: remote GPUs are at no socket of a node; ask with --gres=rgpu:N and, for "
               "processors and memory, with --cpus-per-task and --mem";
    return NULL;
}

static const char *take_remote(job_desc_msg_t *job)
{
    struct gpus_sum sum = {.why = without_meaning(job)};
    uint32_t nodes = sum.why ? 1 : gpus_options_pin_nodes(job);
    uint32_t tasks = has_count(job->num_tasks) ? job->num_tasks : 0;
    char gres[GPU_TYPE_MAX + 40];

    if (sum.why)
        return sum.why;
    if (nodes == 0)
        return "rgpu: remote GPUs need a fixed number of nodes: -N 4 rather than -N 2-4";
    sum_gpus(&sum, job->tres_per_job, 1);
    sum_gpus(&sum, job->tres_per_node, nodes);
    sum_gpus(&sum, job->tres_per_task, tasks);
    if (sum.why)
        return sum.why;
    if (sum.options != 1 || sum.gpus == 0 || sum.gpus % nodes)
        return "rgpu: give one of --gpus, --gpus-per-node and --gpus-per-task (with -n), as many for "
               "each node; or ask with --gres=rgpu:N, N for each node";
    snprintf(gres, sizeof(gres), "gres%crgpu%s%s:%llu", GRES_SEPARATOR, *sum.type ? ":" : "",
             sum.type, (unsigned long long)(sum.gpus / nodes));
    drop_gpus(&job->tres_per_job);
    drop_gpus(&job->tres_per_node);
    drop_gpus(&job->tres_per_task);
    xstrfmtcat(job->tres_per_node, "%s%s", job->tres_per_node ? "," : "", gres);
    drop_variables(job);
    return NULL;
}

const char *gpus_options_translate(job_desc_msg_t *job)
{
    if (!gres_text_has_gpus(job->tres_per_job) && !gres_text_has_gpus(job->tres_per_node) &&
        !gres_text_has_gpus(job->tres_per_socket) && !gres_text_has_gpus(job->tres_per_task))
        return NULL;
    if (licenses_gpus_are_remote(job->partition ? job->partition : default_part_name))
        return take_remote(job);
    return nodes_have_gpus() ? NULL
                             : "rgpu: no node has GPUs of its own; remote GPUs are asked for with "
                               "--gres=rgpu:N, N for each node";
}
