// SPDX-License-Identifier: GPL-2.0-or-later
// gres/rgpu: passes the number of remote GPUs to the processes of a job and a step (RGPU_COUNT).
// The node has nothing to configure or to bind to: the broker chooses the GPUs, and the SPANK
// plugin gives their tickets to steps that have a count here. The name of the node is passed the
// same way (RGPU_NODE), because one host may be several nodes and only a part of slurmstepd knows
// which one.
#include "slurm-plugin/base/slurm_headers.h"

#include "src/slurmd/slurmd/slurmd.h"

// slurmctld loads this plugin too, and has none.
#pragma weak conf

PLUGIN_IDENTITY("remote GPUs of the pool", "gres/rgpu");

#define COUNT_VARIABLE "RGPU_COUNT"
#define NODE_VARIABLE "RGPU_NODE"

// Prototypes of the functions that Slurm looks up by name. The types of data are Slurm's
// enumerations; versions that do not call these functions do not declare them.
PLUGIN_EXPORT int init(void);
PLUGIN_EXPORT FINI_TYPE fini(void);
PLUGIN_EXPORT int gres_p_node_config_load(slurm_list configuration, node_config_load_t *config);
PLUGIN_EXPORT void gres_p_job_set_env(char ***environment, bitstr_t *bits, uint64_t count,
                                      gres_internal_flags_t flags);
PLUGIN_EXPORT void gres_p_step_set_env(char ***environment, bitstr_t *bits, uint64_t count,
                                       gres_internal_flags_t flags);
PLUGIN_EXPORT void gres_p_task_set_env(char ***environment, bitstr_t *bits, uint64_t count,
                                       bitstr_t *usable, gres_internal_flags_t flags);
PLUGIN_EXPORT void gres_p_send_stepd(buf_t *buffer);
PLUGIN_EXPORT void gres_p_recv_stepd(buf_t *buffer);
PLUGIN_EXPORT int gres_p_get_job_info(gres_job_state_t *state, uint32_t node, unsigned int type,
                                      void *data);
PLUGIN_EXPORT int gres_p_get_step_info(gres_step_state_t *state, uint32_t node, unsigned int type,
                                       void *data);
PLUGIN_EXPORT slurm_list gres_p_get_devices(void);
PLUGIN_EXPORT void gres_p_step_hardware_init(bitstr_t *bits, char *settings);
PLUGIN_EXPORT void gres_p_step_hardware_fini(void);
PLUGIN_EXPORT job_gres_info *gres_p_build_info(gres_job_state_t *state);
PLUGIN_EXPORT void gres_p_set_info(char ***environment, job_gres_info *info, int node);

int init(void)
{
    debug("%s: loaded", plugin_type);
    return SLURM_SUCCESS;
}

FINI_TYPE fini(void)
{
    FINI_RETURN;
}

int gres_p_node_config_load(slurm_list configuration, node_config_load_t *config)
{
    return SLURM_SUCCESS;
}

// The environment of a step is the client's: a count that stands there already is not to be
// believed. The hooks run for jobs without remote GPUs too, with a count of 0.
static void set_count(char ***environment, uint64_t count)
{
    if (count > 0)
        env_array_overwrite_fmt(environment, COUNT_VARIABLE, "%llu", (unsigned long long)count);
    else if (*environment)
        unsetenvp(*environment, COUNT_VARIABLE);
}

static void set_node(char ***environment, uint64_t count)
{
    if (count > 0 && &conf && conf && conf->node_name)
        env_array_overwrite(environment, NODE_VARIABLE, conf->node_name);
    else if (*environment)
        unsetenvp(*environment, NODE_VARIABLE);
}

void gres_p_job_set_env(char ***environment, bitstr_t *bits, uint64_t count,
                        gres_internal_flags_t flags)
{
    set_count(environment, count);
    set_node(environment, count);
}

void gres_p_step_set_env(char ***environment, bitstr_t *bits, uint64_t count,
                         gres_internal_flags_t flags)
{
    set_count(environment, count);
    set_node(environment, count);
}

void gres_p_task_set_env(char ***environment, bitstr_t *bits, uint64_t count, bitstr_t *usable,
                         gres_internal_flags_t flags)
{
}

void gres_p_send_stepd(buf_t *buffer)
{
}

void gres_p_recv_stepd(buf_t *buffer)
{
}

int gres_p_get_job_info(gres_job_state_t *state, uint32_t node, unsigned int type, void *data)
{
    return EINVAL;
}

int gres_p_get_step_info(gres_step_state_t *state, uint32_t node, unsigned int type, void *data)
{
    return EINVAL;
}

slurm_list gres_p_get_devices(void)
{
    return NULL;
}

void gres_p_step_hardware_init(bitstr_t *bits, char *settings)
{
}

void gres_p_step_hardware_fini(void)
{
}

// ---- prolog and epilog scripts ----

job_gres_info *gres_p_build_info(gres_job_state_t *state)
{
    job_gres_info *info = xmalloc(sizeof(*info));

    info->node_cnt = state->node_cnt;
    info->gres_cnt_node_alloc = xcalloc(info->node_cnt, sizeof(uint64_t));
    info->gres_bit_alloc = xcalloc(info->node_cnt, sizeof(bitstr_t *));
    for (uint32_t i = 0; i < info->node_cnt; i++)
        if (state->gres_cnt_node_alloc)
            info->gres_cnt_node_alloc[i] = state->gres_cnt_node_alloc[i];
    return info;
}

void gres_p_set_info(char ***environment, job_gres_info *info, int node)
{
    if (info && info->gres_cnt_node_alloc && node >= 0 && (uint32_t)node < info->node_cnt)
        set_count(environment, info->gres_cnt_node_alloc[node]);
}
