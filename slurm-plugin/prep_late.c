// SPDX-License-Identifier: GPL-2.0-or-later
// prep/rgpu as slurmctld and slurmd load it. slurmd has no work for it; slurmctld's is done by
// rgpu_prep.so beside it, and without that no job gets remote GPUs, and all others run.
#include "slurm-plugin/base/slurm_headers.h"

#include "slurm-plugin/base/late.h"

PLUGIN_IDENTITY_OF_RUNNING_SLURM("leases of remote GPUs", "prep/rgpu")

PLUGIN_EXPORT int init(void);
PLUGIN_EXPORT FINI_TYPE fini(void);
PLUGIN_EXPORT void prep_p_register_callbacks(prep_callbacks_t *given);
PLUGIN_EXPORT int prep_p_prolog(job_env_t *job_env, slurm_cred_t *cred);
PLUGIN_EXPORT int prep_p_epilog(job_env_t *job_env, slurm_cred_t *cred);
PLUGIN_EXPORT int prep_p_prolog_slurmctld(job_record_t *job, bool *async);
PLUGIN_EXPORT int prep_p_epilog_slurmctld(job_record_t *job, bool *async);
PLUGIN_EXPORT void prep_p_required(prep_call_type_t type, bool *required);

static __typeof__(fini) *core_fini;
static __typeof__(prep_p_register_callbacks) *core_register;
static __typeof__(prep_p_prolog_slurmctld) *core_prolog, *core_epilog;
static struct late_half core = {
    .file = "rgpu_prep.so",
    .functions = {{"fini", &core_fini},
                  {"prep_p_register_callbacks", &core_register},
                  {"prep_p_prolog_slurmctld", &core_prolog},
                  {"prep_p_epilog_slurmctld", &core_epilog}},
};

int init(void)
{
    const char *why = plugin_fits_or_says() && running_in_slurmctld() ? late_begin(&core) : NULL;

    if (why)
        error("%s: no job gets remote GPUs: %s", plugin_type, why);
    return SLURM_SUCCESS;
}

FINI_TYPE fini(void)
{
    if (core.library)
        (void)core_fini();
    late_unload(&core);
    FINI_RETURN;
}

void prep_p_register_callbacks(prep_callbacks_t *given)
{
    if (core.library)
        core_register(given);
}

int prep_p_prolog(job_env_t *job_env, slurm_cred_t *cred)
{
    return SLURM_SUCCESS;
}

int prep_p_epilog(job_env_t *job_env, slurm_cred_t *cred)
{
    return SLURM_SUCCESS;
}

int prep_p_prolog_slurmctld(job_record_t *job, bool *async)
{
    *async = false;
    return core.library ? core_prolog(job, async) : SLURM_SUCCESS;
}

int prep_p_epilog_slurmctld(job_record_t *job, bool *async)
{
    *async = false;
    return core.library ? core_epilog(job, async) : SLURM_SUCCESS;
}

void prep_p_required(prep_call_type_t type, bool *required)
{
    *required = core.library && (type == PREP_PROLOG_SLURMCTLD || type == PREP_EPILOG_SLURMCTLD);
}
