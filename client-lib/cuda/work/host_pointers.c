// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/work/host_pointers.h"

#include <stdatomic.h>
#include <string.h>

#include "client-lib/cuda/objects/addresses.h"
#include "common/base/log.h"

static CUresult (*_Atomic make_reachable)(const void *memory);

void host_pointers_serve(CUresult (*reach)(const void *memory))
{
    atomic_store(&make_reachable, reach);
}

// Finds the next word from offset *AT on that may be such a pointer. Returns false if there is
// none.
static bool next_pointer(const void *words, size_t size, size_t *at, uint64_t *word)
{
    for (; *at + sizeof(*word) <= size; *at += sizeof(*word)) {
        memcpy(word, (const uint8_t *)words + *at, sizeof(*word));
        if (*word && memory_may_be_on_host(*word))
            return true;
    }
    return false;
}

bool host_pointers_among(const void *words, size_t size)
{
    uint64_t word;
    size_t at = 0;
    return next_pointer(words, size, &at, &word);
}

// Returns the GPU's address of the host memory at ADDRESS; ADDRESS itself if it is anything else. A
// structure may contain a pointer that its kernel never uses, so a failure fails no launch.
static uint64_t host_pointers_translate(const struct box_session *session, uint64_t address)
{
    CUresult (*reach)(const void *memory) = atomic_load(&make_reachable);
    struct allocation found;
    if (!memory_find(address, &found) || !found.host || found.session != session)
        return address;
    if (!found.mapped && reach) {
        CUresult result = session->mirrors_on_demand ? reach((const void *)(uintptr_t)address)
                                                     : CUDA_ERROR_NOT_SUPPORTED;
        if (result != CUDA_SUCCESS || !memory_find(address, &found)) {
            log_warn("a kernel's parameter points to page-locked memory that the GPU cannot have "
                     "address=0x%llx size=%llu result=%d",
                     (unsigned long long)address, (unsigned long long)found.size, (int)result);
            return address;
        }
    }
    return found.mapped && found.elsewhere ? found.device_address + (address - found.base)
                                           : address;
}

void host_pointers_seen(const struct box_session *session, const void *data, size_t size)
{
    uint64_t word;
    for (size_t at = 0; next_pointer(data, size, &at, &word); at += sizeof(word))
        (void)host_pointers_translate(session, word);
}

uint64_t host_pointers_address(uint64_t address)
{
    struct allocation found;
    return atomic_load_explicit(&host_places_any, memory_order_relaxed) &&
                   memory_may_be_on_host(address) && memory_find(address, &found)
               ? host_pointers_translate(found.session, address)
               : address;
}

void host_pointers_resolve(const struct box_session *session, void *words, size_t size)
{
    uint64_t word;
    for (size_t at = 0; next_pointer(words, size, &at, &word); at += sizeof(word)) {
        word = host_pointers_translate(session, word);
        memcpy((uint8_t *)words + at, &word, sizeof(word));
    }
}
