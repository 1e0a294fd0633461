// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "common/base/descriptor.h"
#include "common/security/sha256.h"
#include "transport/vm/vm.h"

// After the header of the rings, on the same page.
struct proof {
    uint8_t box[32], client[32];
};
enum { PROOF_OFFSET = 2048 };
_Static_assert(sizeof(struct shm_header) <= PROOF_OFFSET, "the rings' header is before the proof");
_Static_assert((int)VM_WINDOW_ALIGN == (int)SHM_ALIGN, "parts begin where pages of any size do");

void vm_part_format(const struct vm_part *part, char *text, size_t room)
{
    snprintf(text, room, "%s %" PRIx64 " %x %x %x", part->id, part->place, part->slot,
             part->block_size, part->block_count);
}

bool vm_part_parse(const char *text, struct vm_part *part)
{
    char rest;

    return sscanf(text, "%32s %" SCNx64 " %x %x %x%c", part->id, &part->place, &part->slot,
                  &part->block_size, &part->block_count, &rest) == 5 &&
           part->slot < VM_WINDOW_SLOTS && part->place % VM_WINDOW_ALIGN == 0;
}

static struct shm_geometry geometry_of(const struct vm_part *part)
{
    return (struct shm_geometry){
        .size = vm_window_session(part->block_size, part->block_count),
        .ring_size = SHM_RING_SIZE,
        .block_size = part->block_size,
        .block_count = part->block_count,
    };
}

// Data of an earlier session there are not for this one.
static void vm_part_clear(struct shm_memory *memory)
{
    memset(memory->header, 0, 4096);
    memset(memory->staging.flags, 0, LINK_FLAGS * sizeof(uint32_t));
}

int vm_map_worker(int window, const struct vm_part *part, const int doorbells[VM_WINDOW_DOORBELLS],
                  struct shm_memory **out)
{
    struct shm_geometry geometry = geometry_of(part);
    struct shm_memory *memory;
    int r = shm_memory_map_part(window, part->place, &geometry, &memory);

    if (r)
        return r;
    int *records = &memory->events[SHM_TO_WORKER][SHM_EVENT_RECORDS];
    int *space = &memory->events[SHM_TO_CLIENT][SHM_EVENT_SPACE];
    *records = descriptor_own(fcntl(doorbells[SHM_EVENT_RECORDS], F_DUPFD_CLOEXEC, 0));
    *space = descriptor_own(fcntl(doorbells[SHM_EVENT_SPACE], F_DUPFD_CLOEXEC, 0));
    if (*records < 0 || *space < 0) {
        shm_memory_free(&memory);
        return -EMFILE;
    }
    vm_part_clear(memory);
    *out = memory;
    return 0;
}

int vm_map_client(const struct vm_window *window, const struct vm_part *part,
                  struct shm_memory **out)
{
    struct shm_geometry geometry = geometry_of(part);
    struct shm_memory *memory;

    if (geometry.size > window->size || part->place > window->size - geometry.size)
        return -EPROTO;
    int r = shm_memory_map_part(window->memory, part->place, &geometry, &memory);
    if (r)
        return r;
    int *records = &memory->events[SHM_TO_CLIENT][SHM_EVENT_RECORDS];
    int *space = &memory->events[SHM_TO_WORKER][SHM_EVENT_SPACE];
    *records = descriptor_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    *space = descriptor_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (*records < 0 || *space < 0) {
        shm_memory_free(&memory);
        return -EMFILE;
    }
    *out = memory;
    return 0;
}

// ---- proof ----

static struct proof *proof_of(const struct shm_memory *memory)
{
    return (struct proof *)((uint8_t *)memory->header + PROOF_OFFSET);
}

static void answer_to(const uint8_t token[32], uint8_t answer[32])
{
    for (int i = 0; i < 32; i++)
        answer[i] = (uint8_t)~token[i];
}

void vm_proof_write(struct shm_memory *memory, const uint8_t token[32])
{
    memset(proof_of(memory)->client, 0, 32);
    memcpy(proof_of(memory)->box, token, 32);
}

bool vm_proof_matches(const struct shm_memory *memory, const uint8_t token[32])
{
    return secret_equal(proof_of(memory)->box, token, 32);
}

void vm_proof_answer(struct shm_memory *memory, const uint8_t token[32])
{
    answer_to(token, proof_of(memory)->client);
}

bool vm_proof_answered(const struct shm_memory *memory, const uint8_t token[32])
{
    uint8_t wanted[32];

    answer_to(token, wanted);
    return secret_equal(proof_of(memory)->client, wanted, 32);
}
