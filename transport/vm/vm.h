// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the transport vm: a part of a window as both ends see it, and the links that
// they make of it.
#ifndef RGPU_TRANSPORT_VM_H
#define RGPU_TRANSPORT_VM_H

#include <stdbool.h>

#include "common/net/vm_window.h"
#include "transport/link/link.h"
#include "transport/shm/shm_private.h"
#include "transport/vm/vm_window_probe.h"

// The part of a window that is a session's.
struct vm_part {
    char id[VM_WINDOW_ID_TEXT];
    uint64_t place;
    uint32_t slot;
    uint32_t block_size, block_count;
};

// As an offer's address, and back; false: it is none.
void vm_part_format(const struct vm_part *part, char *text, size_t room);
bool vm_part_parse(const char *text, struct vm_part *part);

// Maps the part: the worker's side with DOORBELLS, the event files that the guest rings; the
// client's with events of its own. -errno.
int vm_map_worker(int window, const struct vm_part *part, const int doorbells[VM_WINDOW_DOORBELLS],
                  struct shm_memory **out);
int vm_map_client(const struct vm_window *window, const struct vm_part *part,
                  struct shm_memory **out);

// The proof that both see the same memory: the box writes the token, and the client answers it.
void vm_proof_write(struct shm_memory *memory, const uint8_t token[32]);
bool vm_proof_matches(const struct shm_memory *memory, const uint8_t token[32]);
void vm_proof_answer(struct shm_memory *memory, const uint8_t token[32]);
bool vm_proof_answered(const struct shm_memory *memory, const uint8_t token[32]);

// Makes a link of mapped memory, which it takes on success. STREAM is the connected socket of the
// session, over which the worker wakes the client; the link has a descriptor of its own for it.
int vm_link_worker(struct shm_memory **memory, int stream, const struct link_options *options,
                   struct link **out);
int vm_link_client(struct shm_memory **memory, const struct vm_window *window,
                   const struct vm_part *part, int stream, const struct link_options *options,
                   struct link **out);

#endif
