/*
 * What a job asks for: the count of its --gres=rgpu:N with the --rgpu-... options of its submission,
 * and the licences that stand for it in Slurm's own counting. Knows nothing of Slurm's headers, so
 * the decisions at submission, at an update and at the start of a job are one code, tested alone.
 */
#ifndef RGPU_SLURM_REQUEST_H
#define RGPU_SLURM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Slurm counts shares in this unit, rounded up for each share. */
#define GPU_SHARE_UNIT (1ull << 30)
#define GPU_CONSTRAINT_MAX 256

struct gpu_request {
    uint32_t per_node; /* 0: nothing of rgpu is asked for */
    bool shared;
    uint64_t memory; /* budget of each share, or the least that an exclusive GPU must have; 0: any */
    char constraint[GPU_CONSTRAINT_MAX];
};

/*
 * `gres` is Slurm's text ("gres:rgpu:2", "gres/rgpu:2,gres/gpu:1", NULL); `environment` are the
 * `size` variables that Slurm keeps for the SPANK options of the job. -EINVAL: *why says what the
 * user must change.
 */
int gpu_request_parse(const char *gres, char *const *environment, size_t size,
                      struct gpu_request *request, const char **why)
    __attribute__((warn_unused_result));

/* "rgpu:4" for exclusive GPUs, "rgpu_mem:40" for shares. -ERANGE: more than Slurm can count. */
int gpu_request_licenses(const struct gpu_request *request, uint32_t nodes, char *text, size_t size)
    __attribute__((warn_unused_result));

/* Whether a user's licences name one of ours. */
bool licenses_name_ours(const char *licenses);
/* `licenses` without ours and with `ours` (may be ""); the caller frees it. NULL: no memory. */
char *licenses_replace(const char *licenses, const char *ours);
/* What `licenses` holds of ours; the caller frees it. NULL: no memory. */
char *licenses_select_ours(const char *licenses);

#endif
