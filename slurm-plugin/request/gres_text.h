// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's texts of generic resources, such as "gres:gpu:h200:2,gres:nic:1". Includes none of
// Slurm's headers.
#ifndef RGPU_SLURM_GRES_TEXT_H
#define RGPU_SLURM_GRES_TEXT_H

#include <stdbool.h>

// Returns true if the text, which may be NULL, names GPUs of nodes (gres/gpu).
bool gres_text_has_gpus(const char *text);
// Returns the entries of GPUs of nodes as entries of rgpu, or all others as they are. The caller
// frees the text; NULL if memory is exhausted.
char *gres_text_gpus_as_rgpu(const char *text);
char *gres_text_without_gpus(const char *text);

#endif
