// SPDX-License-Identifier: GPL-2.0-or-later
// The GPU request of a job, from --gres=rgpu:N and the --rgpu-... options of its submission, and
// the licences by which Slurm counts the request. Includes none of Slurm's headers, so the code for
// submission, update and start of a job can share it, and tests need no Slurm.
#ifndef RGPU_SLURM_JOB_REQUEST_H
#define RGPU_SLURM_JOB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/broker_client.h"

// Bytes that one licence rgpu_mem stands for. Slurm counts shares in this unit, each rounded up.
#define GPU_SHARE_UNIT (1ull << 20)
#define GPU_CONSTRAINT_MAX 256
#define GPU_CLASS_MAX 48
// Bytes of the licences of a request, as Slurm reads them.
#define GPU_LICENSES_MAX (GPU_CLASS_MAX + 32)
#define GPU_TYPE_MAX 64

struct gpu_request {
    uint32_t per_node;       // GPUs of each node; 0: the job requests none of rgpu
    bool shared;             // shares of GPUs, not whole ones
    uint64_t memory;         // bytes of each share, or that a whole GPU must have at least; 0: any
    char type[GPU_TYPE_MAX]; // of --gres=rgpu:TYPE:N, or ""
    char constraint[GPU_CONSTRAINT_MAX]; // of the broker, "" for none; the type is in it as model=
};

// Returns true if one of the `size` variables of a submission's environment is an option of rgpu.
bool gpu_options_given(char *const *environment, size_t size);

// Parses a job's request. `gres` is Slurm's text ("gres:rgpu:2", "gres/rgpu:2,gres/gpu:1") or NULL.
// `environment` has the `size` variables in which Slurm stores the job's SPANK options. Returns 0,
// or -EINVAL with a sentence for the user in *WHY, which says what to change.
int gpu_request_parse(const char *gres, char *const *environment, size_t size,
                      struct gpu_request *request, const char **why)
    __attribute__((warn_unused_result));

// Returns `gres` with "rgpu:2" instead of "rgpu:TYPE:2", which the caller frees; NULL if memory is
// exhausted.
char *gpu_request_without_type(const char *gres, const char *type);

// Writes the name of a request's class, which is a licence; "" if any free GPU suits the request.
// Slurm's counts of GPUs and memory cannot tell if a request fits: the free GPUs may not satisfy
// its constraint, and memory that is free on two GPUs holds no share that needs all of it. So all
// jobs with the same memory, constraint and number of GPUs form a class. Each of them takes one
// licence of the class, whose total is the number of such jobs that could run. The name says the
// request, such as rgpu_model_H200+x2, or has a hash if the request is too long or has characters
// that no licence can have.
void gpu_request_class(const struct gpu_request *request, uint32_t nodes, char name[GPU_CLASS_MAX]);

// The class of jobs that any free GPU suits. A job takes one licence for each of its GPUs.
#define GPU_CLASS_ANY "rgpu_any"
// Returns true if the licence is a class, including GPU_CLASS_ANY.
bool gpu_is_class(const char *license);
// Finds the class of the job's request in the list of its licences; "" if the list has none but
// GPU_CLASS_ANY.
void gpu_class_in(const char *licenses, char name[GPU_CLASS_MAX]);

// Returns the request in the broker's JSON form, a reference that the caller owns; NULL if that
// fails.
json_t *gpu_request_json(const struct gpu_request *request, uint32_t nodes);
// Fills in the members of `acquire` about the GPUs. They point into `request`, which must outlive
// `acquire`.
void gpu_request_describe(const struct gpu_request *request, uint32_t nodes,
                          struct broker_acquire *acquire);

// Writes the licences of a request: "rgpu:4" for whole GPUs, "rgpu_mem:40960" for shares, followed
// by ",CLASS:1" if it has a class; "" for no GPUs. -ERANGE: the number exceeds INT32_MAX.
int gpu_request_licenses(const struct gpu_request *request, uint32_t nodes, char *text, size_t size)
    __attribute__((warn_unused_result));

// Returns true if the list, which a user may have written, names a licence of rgpu.
bool licenses_name_ours(const char *licenses);
// Returns `licenses` with all licences of rgpu replaced by `ours`, which may be "". The caller
// frees the result; NULL if memory is exhausted.
char *licenses_replace(const char *licenses, const char *ours);
// Returns true if two texts name the same licences, in any order.
bool licenses_same(const char *one, const char *other);
// Returns the licences of rgpu in `licenses`, which the caller frees; NULL if memory is exhausted.
char *licenses_select_ours(const char *licenses);

#endif
