// SPDX-License-Identifier: GPL-2.0-or-later
// The leases of Slurm's jobs: their names, taking and giving them back, and the tickets of steps.
// The one client of the broker for all plugins; independent of Slurm's headers.
//
// A lease's key is "slurm/CLUSTER/JOB/START". Slurm uses a job's number again after it has lost its
// records, and runs a requeued job again under its number: the time of the start distinguishes
// them.
#ifndef RGPU_SLURM_JOB_LEASE_H
#define RGPU_SLURM_JOB_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "slurm-plugin/job_request.h"
#include "slurm-plugin/plugin_settings.h"

#define LEASE_KEY_MAX 200
#define LEASE_GPUS_MAX 1024
#define LEASE_UUIDS_MAX 64
#define LEASE_UUID_MAX 64
#define JOB_NEAR_MAX 256
#define JOB_ACCOUNT_MAX 65

struct job_lease {
    uint32_t job;
    time_t start;
    uid_t owner;
    uint32_t nodes;
    bool can_requeue;
    bool (*wanted)(const struct job_lease *); // false: the job no longer starts; NULL: it does
    struct gpu_request request;
    char account[JOB_ACCOUNT_MAX]; // "" where Slurm has none
    char near
        [JOB_NEAR_MAX]; // constraints that say where its nodes are; "" where Slurm does not know
};

void lease_key(const struct slurm_settings *settings, uint32_t job, time_t start, char *key);
// Returns the common prefix of the keys of a job's leases; job 0: of all jobs of the cluster.
void lease_key_prefix(const struct slurm_settings *settings, uint32_t job, char *prefix);
// The job and the start in a key of this cluster; false for other keys.
bool lease_key_parse(const struct slurm_settings *settings, const char *key, uint32_t *job,
                     time_t *start);

// Has the broker keep this cluster's keys for it, for a minute. -EEXIST: another cluster has them,
// and the client's error says which. Leases may not be taken or released then.
int lease_claim_keys(struct broker_client *client, const struct slurm_settings *settings)
    __attribute__((warn_unused_result));

// Waits for the GPUs as long as the settings allow for such a job, while it is wanted and until
// *stop. A failed acquire leaves no lease. Returns 0 with the names of the GPUs in WHY, or -errno
// with a sentence for the user there.
int lease_acquire(const struct slurm_settings *settings, const struct job_lease *job,
                  const atomic_bool *stop, char *why, size_t size)
    __attribute__((warn_unused_result));

// Begins the end and waits until the boxes have ended the sessions, as long as the settings say, or
// a moment for a broker that is away. A failure is no loss: rgpu-slurm-sync sees that the job is
// gone.
int lease_release(const struct slurm_settings *settings, const struct job_lease *job,
                  const atomic_bool *stop, char *why, size_t size)
    __attribute__((warn_unused_result));

struct step_lease {
    char id[64];
    uint32_t gpus;                               // of the whole job, over all nodes
    char uuids[LEASE_UUIDS_MAX][LEASE_UUID_MAX]; // of the first of these
};

// The running lease of a job, the newest where there are several. -ENOENT: it has none.
int lease_find(struct broker_client *client, const struct slurm_settings *settings, uint32_t job,
               struct step_lease *lease) __attribute__((warn_unused_result));

// Returns the text under a name in a lease or another object of an answer; "" if there is none.
const char *lease_text(const json_t *object, const char *name);
// Has a lease suspend or resume: ORDER is that word.
int lease_order(struct broker_client *client, const char *id, const char *order)
    __attribute__((warn_unused_result));
// Has a job's suspended lease return to its GPUs as soon as these are free.
int lease_return(const struct slurm_settings *settings, uint32_t job)
    __attribute__((warn_unused_result));

// A ticket for some GPUs of a lease, by their place in it; the caller frees it.
int lease_ticket(struct broker_client *client, const struct step_lease *lease, const uint32_t *gpus,
                 uint32_t count, char **bundle) __attribute__((warn_unused_result));

#endif
