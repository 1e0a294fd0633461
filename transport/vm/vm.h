// SPDX-License-Identifier: BSD-3-Clause
// Internals of the vm transport: the part of a window that a session uses, and links in it.
#ifndef RGPU_TRANSPORT_VM_H
#define RGPU_TRANSPORT_VM_H

#include <stdbool.h>

#include "common/net/vm_window.h"
#include "transport/link/link.h"
#include "transport/shm/shm_private.h"
#include "transport/vm/vm_window_probe.h"

// The part of a window that a session uses.
struct vm_part {
    char id[VM_WINDOW_ID_TEXT];
    uint64_t place;
    uint32_t slot;
    uint32_t block_size, block_count;
};

// Convert a part to and from the address of an offer. vm_part_parse returns false for other text.
void vm_part_format(const struct vm_part *part, char *text, size_t room);
bool vm_part_parse(const char *text, struct vm_part *part);

// Map the part. The worker's side uses DOORBELLS, eventfds that the guest triggers; the client's
// side creates eventfds. Return 0 or -errno.
int vm_map_worker(int window, const struct vm_part *part, const int doorbells[VM_WINDOW_DOORBELLS],
                  struct shm_memory **out);
int vm_map_client(const struct vm_window *window, const struct vm_part *part,
                  struct shm_memory **out);

// Proof that both sides map the same memory: the box writes the token there, and the client writes
// an answer.
void vm_proof_write(struct shm_memory *memory, const uint8_t token[32]);
bool vm_proof_matches(const struct shm_memory *memory, const uint8_t token[32]);
void vm_proof_answer(struct shm_memory *memory, const uint8_t token[32]);
bool vm_proof_answered(const struct shm_memory *memory, const uint8_t token[32]);

// Create a link from mapped memory; on success the link owns it and *MEMORY is NULL. STREAM is the
// socket of the session, over which the worker wakes the client; the link duplicates it.
int vm_link_worker(struct shm_memory **memory, int stream, const struct link_options *options,
                   struct link **out);
int vm_link_client(struct shm_memory **memory, const struct vm_window *window,
                   const struct vm_part *part, int stream, const struct link_options *options,
                   struct link **out);

#endif
