// SPDX-License-Identifier: BSD-3-Clause
// When memory that this process and GPUs both have copies of is made one again: before work is sent, before a call waits for
// a GPU, and when that has come to an end.
#ifndef RGPU_CLIENT_COHERENCE_H
#define RGPU_CLIENT_COHERENCE_H

// From the first such memory on. Any thread may call, as often as it likes.
void coherence_begin(void);

#endif
