// SPDX-License-Identifier: GPL-2.0-or-later
// What a job asks for: the count of its --gres=rgpu:N with the --rgpu-... options of its submission,
// and the licences that stand for it in Slurm's own counting. Knows nothing of Slurm's headers, so
// the decisions at submission, at an update and at the start of a job are one code, tested alone.
#ifndef RGPU_SLURM_JOB_REQUEST_H
#define RGPU_SLURM_JOB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/broker_client.h"

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

// Whether any of our options stands in the environment of a submission.
bool gpu_options_given(char *const *environment, size_t size);

// `gres` is Slurm's text ("gres:rgpu:2", "gres/rgpu:2,gres/gpu:1", NULL); `environment` are the
// `size` variables that Slurm keeps for the SPANK options of the job. -EINVAL: *why says what the
// user must change.
int gpu_request_parse(const char *gres, char *const *environment, size_t size,
                      struct gpu_request *request, const char **why)
    __attribute__((warn_unused_result));

// `gres` with "rgpu:2" for "rgpu:TYPE:2"; the caller frees it. NULL: no memory.
char *gpu_request_without_type(const char *gres, const char *type);

// Not every free GPU suits every job, and memory that is free in two places holds no share that needs
// all of it. Jobs that ask for more than a number of GPUs are therefore counted a second time, by
// a licence of which each job takes one, and of which there are as many as such jobs could start.
// Its name says the request; "" for jobs that any free GPU suits.
void gpu_request_class(const struct gpu_request *request, uint32_t nodes, char name[GPU_CLASS_MAX]);

// The request as the broker takes it, for the caller to decref; NULL: no memory.
json_t *gpu_request_json(const struct gpu_request *request, uint32_t nodes);
// Fills in what an acquire says of the GPUs; it points into `request`.
void gpu_request_describe(const struct gpu_request *request, uint32_t nodes,
                          struct broker_acquire *acquire);

// "rgpu:4" for exclusive GPUs, "rgpu_mem:40960" for shares, with ",CLASS:1" where the request has
// one. -ERANGE: more than Slurm can count.
int gpu_request_licenses(const struct gpu_request *request, uint32_t nodes, char *text, size_t size)
    __attribute__((warn_unused_result));

// Whether a user's licences name one of ours.
bool licenses_name_ours(const char *licenses);
// `licenses` without ours and with `ours` (may be ""); the caller frees it. NULL: no memory.
char *licenses_replace(const char *licenses, const char *ours);
// Whether two texts name the same licences, in whatever order.
bool licenses_same(const char *one, const char *other);
// What `licenses` holds of ours; the caller frees it. NULL: no memory.
char *licenses_select_ours(const char *licenses);

#endif
