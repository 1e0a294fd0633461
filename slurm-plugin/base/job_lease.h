// SPDX-License-Identifier: GPL-2.0-or-later
// The leases of Slurm's jobs: their keys, acquiring and releasing them, and the tickets of steps.
// All plugins call the broker through these functions. Includes none of Slurm's headers.
//
// A lease's key is "slurm/CLUSTER/JOB/START". START is the time of the job's start: a requeued job
// runs again under its number, and Slurm uses numbers again after it has lost its records.
#ifndef RGPU_SLURM_JOB_LEASE_H
#define RGPU_SLURM_JOB_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "slurm-plugin/request/job_request.h"
#include "slurm-plugin/base/plugin_settings.h"

#define LEASE_KEY_MAX 200
#define LEASE_GPUS_MAX 1024
#define LEASE_UUIDS_MAX 64
#define LEASE_UUID_MAX 64
#define JOB_NEAR_MAX 256
#define JOB_ACCOUNT_MAX 65

// One run of a job, for which a lease is acquired or released.
struct job_lease {
    uint32_t job;
    time_t start;
    uid_t owner;
    uint32_t nodes;   // number of the job's nodes
    bool can_requeue; // a job without GPUs is requeued; otherwise it ends
    bool (*wanted)(
        const struct job_lease *); // returns false once the job no longer starts; or NULL
    struct gpu_request request;
    char account[JOB_ACCOUNT_MAX]; // "" if Slurm has none
    char near[JOB_NEAR_MAX];       // the constraints of near_of_job, or ""
};

// Writes the key to `key`, which has LEASE_KEY_MAX bytes.
void lease_key(const struct slurm_settings *settings, uint32_t job, time_t start, char *key);
// Writes the common prefix of the keys of a job's leases, or for job 0 of all jobs of the cluster,
// to `prefix`, which has LEASE_KEY_MAX bytes.
void lease_key_prefix(const struct slurm_settings *settings, uint32_t job, char *prefix);
// Reads the job and the start from a key of this cluster. Returns false for other keys.
bool lease_key_parse(const struct slurm_settings *settings, const char *key, uint32_t *job,
                     time_t *start);

// Reserves this cluster's keys in the broker, for this slurmctld and one minute. -EEXIST: another
// slurmctld has reserved them (broker_client_error names it), so the caller must neither acquire
// nor release leases. Other errors are those of broker_client_call.
int lease_claim_keys(struct broker_client *client, const struct slurm_settings *settings)
    __attribute__((warn_unused_result));

// Acquires the job's lease. Waits for GPUs, or for a broker that does not answer, until the time
// that the settings allow is over, the job is no longer wanted, or *STOP is true. Returns 0 with
// the names of the GPUs in WHY, or -errno with a sentence for the user in WHY. An error leaves no
// lease, except if *STOP is true: the next process continues the acquire of the same start.
int lease_acquire(const struct slurm_settings *settings, const struct job_lease *job,
                  const atomic_bool *stop, char *why, size_t size)
    __attribute__((warn_unused_result));

// Releases the job's lease and waits until the boxes have ended its sessions. The wait ends after
// release_wait of the settings, when *STOP is true, or some seconds after the broker stopped
// answering. Returns 0, or -errno with the reason in WHY; the caller may ignore an error, because
// rgpu-slurm-sync releases leases of jobs that have ended.
int lease_release(const struct slurm_settings *settings, const struct job_lease *job,
                  const atomic_bool *stop, char *why, size_t size)
    __attribute__((warn_unused_result));

// The lease of a step's job.
struct step_lease {
    char id[64];
    uint32_t gpus; // number of GPUs of the lease, for all nodes of the job
    char uuids[LEASE_UUIDS_MAX][LEASE_UUID_MAX]; // of the first GPUs; "" without one
};

// Finds the granted lease of a job, the newest of several. -ENOENT: the job has none.
int lease_find(struct broker_client *client, const struct slurm_settings *settings, uint32_t job,
               struct step_lease *lease) __attribute__((warn_unused_result));

// Returns the string member NAME of a JSON object, valid as long as the object; "" without one.
const char *lease_text(const json_t *object, const char *name);
// Orders the broker to suspend or resume a lease: ORDER is "suspend" or "resume". Does not wait
// until that is done.
int lease_order(struct broker_client *client, const char *id, const char *order)
    __attribute__((warn_unused_result));
// Orders the broker to resume a job's suspended lease as soon as GPUs for it are free. -ENOENT: the
// job has no lease.
int lease_return(const struct slurm_settings *settings, uint32_t job)
    __attribute__((warn_unused_result));

// Requests a ticket for COUNT GPUs of a lease, given by their indices in the lease. Sets *BUNDLE to
// its text, which the caller frees.
int lease_ticket(struct broker_client *client, const struct step_lease *lease, const uint32_t *gpus,
                 uint32_t count, char **bundle) __attribute__((warn_unused_result));

#endif
