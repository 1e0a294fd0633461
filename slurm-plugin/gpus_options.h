// SPDX-License-Identifier: GPL-2.0-or-later
// --gpus, --gpus-per-node, --gpus-per-task and --gres=gpu:N of a submission: GPUs of the nodes
// themselves, or remote ones in partitions that the setting gpus_partitions names.
#ifndef RGPU_SLURM_GPUS_OPTIONS_H
#define RGPU_SLURM_GPUS_OPTIONS_H

#include "slurm-plugin/base/slurm_headers.h"

// Replaces such options by --gres=rgpu:N if they ask for remote GPUs. Returns NULL, or a sentence
// for the user if the job must be refused: no node has GPUs, or the options have no meaning for
// remote ones.
const char *gpus_options_translate(job_desc_msg_t *job);
// Sets the number of nodes of a submission that gives none or only one bound, and returns it; 0 if
// it is a range.
uint32_t gpus_options_pin_nodes(job_desc_msg_t *job);

#endif
