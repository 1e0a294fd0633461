// SPDX-License-Identifier: GPL-2.0-or-later
// The differences between Slurm's versions 21.08 to 26.05, all of them here: the sources that
// include this file are written for the newest version. The first part is for Slurm's public
// headers, the second one for those of its sources (slurm_headers.h).
//
// | since | difference | here |
// |-------|------------|------|
// | 22.05 | nodes are visited by next_node() | VISITS_NODES |
// | 22.05 | the callbacks of prep say if the time was up | prep_report() |
// | 23.02 | gres.h, prep.h and preempt.h have moved | slurm_headers.h |
// | 23.02 | a gres plugin has gres_p_prep_..., before gres_p_epilog_... | gres_p_build_info |
// | 23.02 | tres_per_node has gres/NAME, before gres:NAME | GRES_SEPARATOR |
// | 23.02 | job_modify() has a message for the user | MODIFY_MESSAGE |
// | 23.02 | a node's switches are asked of the topology plugin | GET_NODE_ADDRESS |
// | 23.02 | licences of a heterogeneous job are its first part's | FIRST_PART_HAS_LICENSES |
// | 23.11 | reconfiguring starts slurmctld anew, before it read its files | STAYS_AT_RECONFIGURE |
// | 23.11 | hostlist_t is the structure, before a pointer to it | LIST_POINTER |
// | 24.11 | a list is list_t *, before List | slurm_list |
// | 24.11 | slurmctld's list of licences has another name | license_entries.c |
// | 24.11 | job_suspend() answers a message, before a connection | suspend_or_resume_job() |
// | 24.11 | PreemptParameters has youngest_first, reclaim_licenses | preempt_parameter() |
// | 25.05 | licences of jobs are found by number, before by name | license_id(), license_set_id() |
// | 25.05 | slurmdb_job_rec_t has no lft | UNSET_LFT |
// | 25.05 | a slurmctld that ends unloads its accounting long before fini() | slurmctld_ends() |
// | 25.11 | fini() returns nothing | FINI_TYPE |
// | 25.11 | a licence with the count 0 in slurm.conf does not exist | rgpuctl slurm-config |
// | 25.11 | messages name a job by a step_id, before by job_id | JOB_ID |
// | 26.05 | waiting jobs lose licences that slurm.conf lacks at start | license_take_back() |
// | 26.05 | functions of libslurm take a step_id, before a job's number | SLURM_JOB() |
// | 26.05 | slurm_free_conf() was slurm_free_ctl_conf() | slurm_free_conf() |
#ifndef RGPU_SLURM_VERSIONS_H
#define RGPU_SLURM_VERSIONS_H

#include <slurm/slurm.h>
#include <slurm/slurm_version.h>

#define SLURM_SINCE(major, minor) (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

// ---- public headers ----

#if SLURM_SINCE(26, 5)
#define SLURM_JOB(id) \
    ((slurm_step_id_t){.job_id = (id), .step_id = NO_VAL, .step_het_comp = NO_VAL})
#else
#define SLURM_JOB(id) (id)
#define slurm_free_conf slurm_free_ctl_conf
#endif

// The field of job_desc_msg_t and suspend_msg_t.
#if SLURM_SINCE(25, 11)
#define JOB_ID step_id.job_id
#else
#define JOB_ID job_id
#endif

// A part of an initializer.
#if SLURM_SINCE(25, 5)
#define UNSET_LFT
#else
#define UNSET_LFT .lft = NO_VAL,
#endif

// ---- headers of the sources ----

#ifdef RGPU_SLURM_HEADERS_H

#if SLURM_SINCE(24, 11)
typedef list_t *slurm_list;
#else
typedef List slurm_list;
#endif

#if SLURM_SINCE(23, 11)
#define LIST_POINTER *
#else
#define LIST_POINTER
#endif

// The result type and the return statement of a plugin's fini().
#if SLURM_SINCE(25, 11)
#define FINI_TYPE void
#define FINI_RETURN return
#else
#define FINI_TYPE int
#define FINI_RETURN return SLURM_SUCCESS
#endif

#if SLURM_SINCE(23, 2)
typedef gres_prep_t job_gres_info;
#define gres_p_build_info gres_p_prep_build_env
#define gres_p_set_info gres_p_prep_set_env
#define GET_NODE_ADDRESS topology_g_get_node_addr
#else
typedef gres_epilog_info_t job_gres_info;
#define gres_p_build_info gres_p_epilog_build_env
#define gres_p_set_info gres_p_epilog_set_env
#define GET_NODE_ADDRESS slurm_topo_get_node_addr
#endif

// The last parameter of job_modify() and of its calls.
#if SLURM_SINCE(23, 2)
#define MODIFY_MESSAGE(parameter) , parameter
#define MODIFY_MESSAGE_TO(message) (message)
#else
#define MODIFY_MESSAGE(parameter)
#define MODIFY_MESSAGE_TO(message) NULL
#endif

enum {
    GRES_SEPARATOR = SLURM_SINCE(23, 2) ? '/' : ':',
    VISITS_NODES = SLURM_SINCE(22, 5),
    FIRST_PART_HAS_LICENSES = SLURM_SINCE(23, 2),
    // For licenses_t.remote. A slurmctld that reads slurm.conf again drops licences that are not in
    // it, from waiting jobs as well, but for those of slurmdbd (1 or 2). It changes no others.
    STAYS_AT_RECONFIGURE = SLURM_SINCE(23, 11) ? 0 : 3,
};
#if !SLURM_SINCE(22, 5)
#define next_node(index) ((node_record_t *)NULL)
#endif

#if SLURM_SINCE(22, 5)
#define prep_report(callback, status, job) (callback)(status, job, false)
#else
#define prep_report(callback, status, job) (callback)(status, job)
#endif

// The number by which Slurm finds a licence of a job in its own list.
#if SLURM_SINCE(25, 5)
static inline uint16_t license_id(const licenses_t *entry)
{
    return entry->id.lic_id;
}

// The licence is not one of those that are bound to nodes.
static inline void license_set_id(licenses_t *entry, uint16_t id)
{
    entry->id = (licenses_id_t){.lic_id = id, .hres_id = NO_VAL16};
}
#else
static inline uint16_t license_id(const licenses_t *entry)
{
    return 0;
}

static inline void license_set_id(licenses_t *entry, uint16_t id)
{
}
#endif

// Returns true if PreemptParameters has this word. Older versions have some of the words, with a
// prefix, in SchedulerParameters.
static inline bool preempt_parameter(const char *word)
{
#if SLURM_SINCE(24, 11)
    return xstrcasestr(slurm_conf.preempt_params, word);
#else
    return false;
#endif
}

// Calls job_suspend() of slurmctld, as gang scheduling does. The job keeps its processors, and it
// may be resumed as any other.
static inline int suspend_or_resume_job(uint32_t job, uint16_t operation)
{
    suspend_msg_t order = {.op = operation, .JOB_ID = job};

#if SLURM_SINCE(24, 11)
    return job_suspend(NULL, &order, 0, false, NO_VAL16);
#else
    return job_suspend(&order, 0, -1, false, NO_VAL16);
#endif
}

#endif
#endif
