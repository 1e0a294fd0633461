// SPDX-License-Identifier: GPL-2.0-or-later
// The SPANK part: the --rgpu-... options of sbatch, srun and salloc, and in slurmstepd a ticket for
// each step that has remote GPUs. A step's job is what slurmstepd says it is, and what that job
// asked for is what slurmctld says, never what the environment says. An error on the way is kept
// until the first task: failing earlier would drain the node.
//
// Every srun and every step of the cluster loads this plugin. So the code that talks to the broker,
// with its libraries, is in rgpu_step.so beside it, which is loaded only for steps with remote
// GPUs.
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/driver/nccl_preload.h"
#include "common/driver/profiler_preload.h"
#include "slurm-plugin/base/late.h"
#include "slurm-plugin/base/slurm_versions.h"
#include "slurm-plugin/step.h"

#pragma GCC visibility push(default)
SPANK_PLUGIN(rgpu, 1)
int slurm_spank_init(spank_t spank, int argc, char **argv);
int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv);
int slurm_spank_task_init(spank_t spank, int argc, char **argv);
int slurm_spank_exit(spank_t spank, int argc, char **argv);
#pragma GCC visibility pop

// slurmstepd has it; the environment's name of the cluster is the client's.
extern slurm_conf_t slurm_conf;
#pragma weak slurm_conf

static struct step step;
static int (*begin_step)(const struct step_place *, struct step *, char *, size_t);
static void (*end_step)(struct step *);
static struct late_half step_half = {
    .file = "rgpu_step.so",
    .functions = {{"step_begin", &begin_step}, {"step_end", &end_step}},
};
static bool has_gpus;
static char problem[400];

// ---- options ----

// job_submit/rgpu checks the values: it also sees those of clients other than ours.
static int spank_rgpu_take_option(int value, const char *text, int remote)
{
    return 0;
}

static bool wants_all;

static int spank_rgpu_take_all(int value, const char *text, int remote)
{
    wants_all = true;
    return 0;
}

static struct spank_option options[] = {
    {"rgpu-mem", "SIZE",
     "share of each remote GPU with this memory budget, such as 10G; with "
     "--rgpu-mode=exclusive the least that each has",
     1, 0, spank_rgpu_take_option},
    {"rgpu-mode", "MODE", "remote GPUs as exclusive or shared [shared with --rgpu-mem]", 1, 0,
     spank_rgpu_take_option},
    {"rgpu-compute", "PERCENT", "part of each remote GPU that the job is kept to, such as 25%", 1,
     0, spank_rgpu_take_option},
    {"rgpu-constraint", "LIST", "what remote GPUs must be like, such as model=*H200*,same-box", 1,
     0, spank_rgpu_take_option},
    {"rgpu-all", NULL,
     "let the step see the remote GPUs of all nodes of the job, its own node's first", 0, 0,
     spank_rgpu_take_all},
};

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
            return -1;
    return 0;
}

// ---- the environment of a step ----

static uint32_t gpu_count(spank_t spank)
{
    char text[16];

    return spank_getenv(spank, "RGPU_COUNT", text, sizeof(text)) == ESPANK_SUCCESS
               ? (uint32_t)strtoul(text, NULL, 10)
               : 0;
}

// Inserted before the existing value.
static void preload_nccl(spank_t spank, const char *directory, bool apart)
{
    char old[8192], value[8192 + 2048], choice[16];

    if (spank_getenv(spank, "LD_PRELOAD", old, sizeof(old)) != ESPANK_SUCCESS)
        *old = '\0';
    if (spank_getenv(spank, "RGPU_NCCL", choice, sizeof(choice)) != ESPANK_SUCCESS)
        *choice = '\0';
    if (!nccl_choice_is_known(choice))
        slurm_error("rgpu: RGPU_NCCL=%s is not one of auto, own, site", choice);
    if (directory && nccl_preload(directory, old, choice, apart, value, sizeof(value)))
        spank_setenv(spank, "LD_PRELOAD", value, 1);
}

static void prepend_library(spank_t spank, const char *directory)
{
    char old[8192], value[8192 + 2048], choice[16];

    if (!directory)
        return;
    if (spank_getenv(spank, "LD_LIBRARY_PATH", old, sizeof(old)) != ESPANK_SUCCESS)
        *old = '\0';
    snprintf(value, sizeof(value), "%.500s%s%s", directory, *old ? ":" : "", old);
    spank_setenv(spank, "LD_LIBRARY_PATH", value, 1);
    if (spank_getenv(spank, "LD_PRELOAD", old, sizeof(old)) != ESPANK_SUCCESS)
        *old = '\0';
    if (spank_getenv(spank, "RGPU_PROFILER", choice, sizeof(choice)) != ESPANK_SUCCESS)
        *choice = '\0';
    if (profiler_preload(directory, old, choice, value, sizeof(value)))
        spank_setenv(spank, "LD_PRELOAD", value, 1);
}

// ---- what slurmctld says of the job ----

static bool names_us(const char *tres)
{
    const char *at = tres ? strstr(tres, "rgpu") : NULL;

    while (at && at != tres && !strchr(":/,;", at[-1]))
        at = strstr(at + 1, "rgpu");
    return at;
}

// This node's place among the nodes of the job; a step may run on some of them only.
static int find_node(const job_info_t *job, const char *name, struct step_place *place)
{
    __typeof__(slurm_hostlist_create(name)) list; // a pointer, whose type's name means either
    int found;

    list = job->nodes ? slurm_hostlist_create(job->nodes) : NULL;
    found = list ? slurm_hostlist_find(list, name) : -1;
    if (found >= 0) {
        place->node = (uint32_t)found;
        place->nodes = (uint32_t)slurm_hostlist_count(list);
    }
    if (list)
        slurm_hostlist_destroy(list);
    return found < 0 ? -ENOENT : 0;
}

// A count alone does not show that the job requested GPUs: Slurm gives some jobs the whole node,
// with all its gres. The environment does not show it either: it is the client's and, below a batch
// script, that of another node. slurmctld knows the request and its nodes. -ENODATA: the job
// requested none.
static int ask_slurmctld(spank_t spank, struct step_place *place)
{
    job_info_msg_t *message = NULL;
    char name[256];
    int error = -ENOENT;

    if (spank_getenv(spank, "RGPU_NODE", name, sizeof(name)) != ESPANK_SUCCESS ||
        slurm_load_job(&message, SLURM_JOB(place->job), SHOW_ALL) != SLURM_SUCCESS)
        return -EHOSTUNREACH;
    // A heterogeneous job is answered with all of its parts.
    for (uint32_t i = 0; i < message->record_count; i++) {
        const job_info_t *job = &message->job_array[i];
        if (job->job_id != place->job)
            continue;
        error = names_us(job->tres_per_node) ? find_node(job, name, place) : -ENODATA;
        break;
    }
    slurm_free_job_info_msg(message);
    return error;
}

static void identify(spank_t spank, struct step_place *place)
{
    memset(place, 0, sizeof(*place));
    place->cluster = &slurm_conf ? slurm_conf.cluster_name : NULL;
    spank_get_item(spank, S_JOB_ID, &place->job);
    spank_get_item(spank, S_JOB_STEPID, &place->step);
    spank_get_item(spank, S_JOB_UID, &place->uid);
    spank_get_item(spank, S_JOB_GID, &place->gid);
    spank_get_item(spank, S_JOB_NODEID, &place->step_node);
    place->count = gpu_count(spank);
    // Steps that srun starts divide the job's GPUs; the batch script sees all of its node.
    place->divides = place->step < SLURM_MAX_NORMAL_STEP_ID;
    place->all = wants_all;
}

static int load_step(void)
{
    const char *why = late_load(&step_half);

    if (!why)
        return 0;
    snprintf(problem, sizeof(problem), "%s", why);
    return -ENOENT;
}

// Sets `has_gpus` if the job requested the counted GPUs.
static void look_at_job(spank_t spank, struct step_place *place)
{
    int error = ask_slurmctld(spank, place);

    spank_unsetenv(spank, "RGPU_NODE");
    if (error == -EHOSTUNREACH) {
        // It is unknown whether the job requested GPUs. A job that did gets no ticket, and so no
        // GPU.
        slurm_error("rgpu: job %u step %u: slurmctld does not say what the job asked for; it is "
                    "left without remote GPUs",
                    place->job, place->step);
        return;
    }
    has_gpus = error != -ENODATA;
    if (!has_gpus)
        spank_unsetenv(spank, "RGPU_COUNT");
    else if (error)
        snprintf(problem, sizeof(problem), "this node is none of the job's nodes");
}

static void give_gpus(spank_t spank, const struct step_place *place)
{
    char text[16];

    if (load_step() < 0 || begin_step(place, &step, problem, sizeof(problem)) < 0)
        return;
    prepend_library(spank, step.settings.library);
    preload_nccl(spank, step.settings.library, step.gpus_apart);
    snprintf(text, sizeof(text), "%u", step.gpus);
    spank_setenv(spank, "RGPU_COUNT", text, 1);
    if (step.ticket_count > 0)
        spank_setenv(spank, "RGPU_TICKET_FILE", step.tickets[0].path, 1);
    if (step.of_job.path)
        spank_setenv(spank, "RGPU_JOB_TICKET_FILE", step.of_job.path, 1);
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
    struct step_place place;

    if (!spank_remote(spank))
        return 0;
    // Tickets that came with the environment of the submission are of something else.
    spank_unsetenv(spank, "RGPU_TICKET");
    spank_unsetenv(spank, "RGPU_TICKET_FILE");
    spank_unsetenv(spank, "RGPU_JOB_TICKET_FILE");
    identify(spank, &place);
    if (place.count == 0 || place.step == SLURM_EXTERN_CONT)
        return 0;
    look_at_job(spank, &place);
    if (has_gpus && !*problem)
        give_gpus(spank, &place);
    return 0;
}

int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
    int task = 0;

    if (!has_gpus || !spank_remote(spank))
        return 0;
    if (*problem) {
        // This is the child that becomes the task. With `optional` in plugstack.conf slurmstepd
        // would run the program in spite of an error, and it would compute without GPUs.
        slurm_error("rgpu: this job's remote GPUs cannot be used: %s", problem);
        _exit(1);
    }
    if (step.ticket_count > 1) {
        spank_get_item(spank, S_TASK_ID, &task);
        spank_setenv(spank, "RGPU_TICKET_FILE",
                     step.tickets[(unsigned)task % step.ticket_count].path, 1);
        spank_setenv(spank, "RGPU_COUNT", "1", 1);
    }
    // It numbers GPUs of the node, or of where the job was submitted, and would choose among the
    // remote ones.
    spank_unsetenv(spank, "CUDA_VISIBLE_DEVICES");
    if (step.order)
        spank_setenv(spank, "CUDA_VISIBLE_DEVICES", step.order, 1);
    return 0;
}

int slurm_spank_exit(spank_t spank, int argc, char **argv)
{
    if (has_gpus && end_step && spank_remote(spank))
        end_step(&step);
    return 0;
}
