// SPDX-License-Identifier: GPL-2.0-or-later
// The GPU request of a job: the count of its --gres=rgpu:N with the --rgpu-... options of its
// submission, and the licences by which Slurm counts it. Includes none of Slurm's headers, so
// submission, update and start of a job share this code, and it is tested alone.
#ifndef RGPU_SLURM_JOB_REQUEST_H
#define RGPU_SLURM_JOB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/broker_client.h"

// Slurm counts shares in this unit, rounded up for each share.
#define GPU_SHARE_UNIT (1ull << 20)
#define GPU_CONSTRAINT_MAX 256
#define GPU_CLASS_MAX 24
#define GPU_TYPE_MAX 64

struct gpu_request {
    uint32_t per_node; // 0: nothing of rgpu is asked for
    bool shared;
    uint64_t memory; // budget of each share, or the least that an exclusive GPU must have; 0: any
    char type[GPU_TYPE_MAX];             // of --gres=rgpu:TYPE:N, or ""
    char constraint[GPU_CONSTRAINT_MAX]; // with the type as a model
};

// Returns true if any of our options is in the environment of a submission.
bool gpu_options_given(char *const *environment, size_t size);

// `gres` is Slurm's text ("gres:rgpu:2", "gres/rgpu:2,gres/gpu:1", NULL); `environment` are the
// `size` variables that Slurm keeps for the SPANK options of the job. -EINVAL: *why says what the
// user must change.
int gpu_request_parse(const char *gres, char *const *environment, size_t size,
                      struct gpu_request *request, const char **why)
    __attribute__((warn_unused_result));

// `gres` with "rgpu:2" for "rgpu:TYPE:2"; the caller frees it. NULL: no memory.
char *gpu_request_without_type(const char *gres, const char *type);

// Not every free GPU suits every job, and memory that is free in two places holds no share that
// needs all of it. So jobs that request more than a number of arbitrary GPUs are counted a second
// time, by a licence of their class. Each such job takes one of them; their total is the number of
// such jobs that could start. The name of the class contains the request; it is "" for jobs that
// any free GPU suits.
void gpu_request_class(const struct gpu_request *request, uint32_t nodes, char name[GPU_CLASS_MAX]);

// The class of jobs that any free GPU suits: each takes as many as it has GPUs.
#define GPU_CLASS_ANY "rgpu_any"
// Returns true if the licence is one of a class, GPU_CLASS_ANY among them.
bool gpu_is_class(const char *license);
// The class of a job's own request in its licences, or "".
void gpu_class_in(const char *licenses, char name[GPU_CLASS_MAX]);

// The request as the broker takes it, for the caller to decref; NULL: no memory.
json_t *gpu_request_json(const struct gpu_request *request, uint32_t nodes);
// Fills in what an acquire says of the GPUs; it points into `request`.
void gpu_request_describe(const struct gpu_request *request, uint32_t nodes,
                          struct broker_acquire *acquire);

// "rgpu:4" for exclusive GPUs, "rgpu_mem:40960" for shares, with ",CLASS:1" where the request has
// one. -ERANGE: more than Slurm can count.
int gpu_request_licenses(const struct gpu_request *request, uint32_t nodes, char *text, size_t size)
    __attribute__((warn_unused_result));

// Returns true if a user's licences name one of ours.
bool licenses_name_ours(const char *licenses);
// `licenses` without ours and with `ours` (may be ""); the caller frees it. NULL: no memory.
char *licenses_replace(const char *licenses, const char *ours);
// Returns true if two texts name the same licences, in any order.
bool licenses_same(const char *one, const char *other);
// Returns our part of `licenses`, which the caller frees; NULL without memory.
char *licenses_select_ours(const char *licenses);

#endif
