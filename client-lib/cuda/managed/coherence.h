// SPDX-License-Identifier: BSD-3-Clause
// Synchronizes memory that both this process and GPUs hold copies of: before work is sent, before a
// call waits for a GPU, and after the wait.
#ifndef RGPU_CLIENT_COHERENCE_H
#define RGPU_CLIENT_COHERENCE_H

// Installs the hooks of before_work.h. Called before the first such memory is added. Idempotent and
// thread-safe.
void coherence_begin(void);

#endif
