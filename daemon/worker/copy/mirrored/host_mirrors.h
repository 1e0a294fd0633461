// SPDX-License-Identifier: BSD-3-Clause
// Page-locked memory of ours that stands for the client's own, where the link shares none
// (host_mirrors.c).
#ifndef RGPU_WORKER_HOST_MIRRORS_H
#define RGPU_WORKER_HOST_MIRRORS_H

void host_mirrors_prepare(void);

#endif
