// SPDX-License-Identifier: BSD-3-Clause
// Finds pointers to host memory among the parameters of a kernel, and in small copies to the GPU.
// Hosts and GPUs have one address space (unified addressing), so a program may pass the address of
// page-locked memory to a kernel without querying a device pointer. Therefore the library makes
// such memory accessible to the GPU when the program passes its address. Thread-safe.
#ifndef RGPU_CLIENT_HOST_POINTERS_H
#define RGPU_CLIENT_HOST_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"

// Sets the function that makes the memory at an address of this process accessible to the GPU. The
// functions below call it.
void host_pointers_serve(CUresult (*reach)(const void *memory));

// Returns true if one of the 8-byte words in SIZE bytes at WORDS may be a pointer to host memory
// that the GPU cannot access.
bool host_pointers_among(const void *words, size_t size);
// Makes the memory of all such pointers in SIZE bytes at DATA accessible to the session's GPUs.
// DATA is about to be copied to the GPU, where a kernel may read the pointers.
void host_pointers_seen(const struct box_session *session, const void *data, size_t size);
// Makes the memory at ADDRESS accessible to the GPU if it is host memory, and returns the GPU's
// address of that memory.
uint64_t host_pointers_address(uint64_t address);
// Makes the memory of all such pointers in SIZE bytes at WORDS accessible to the session's GPUs.
// Replaces each pointer to memory that has another address on the GPU with that address.
void host_pointers_resolve(const struct box_session *session, void *words, size_t size);

#endif
