// SPDX-License-Identifier: BSD-3-Clause
// Finds pointers to host memory among the parameters of a kernel, and in small copies to the GPU.
// With one address space for hosts and GPUs, a program may pass the address of page-locked memory
// to a kernel without asking for a pointer for the device, so this is the moment to give the GPU
// that memory. Thread-safe.
#ifndef RGPU_CLIENT_HOST_POINTERS_H
#define RGPU_CLIENT_HOST_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"

// Sets the function that gives the GPU the memory at an address of this process.
void host_pointers_serve(CUresult (*reach)(const void *memory));

// Returns true if one of the words in SIZE bytes at WORDS may be such a pointer.
bool host_pointers_among(const void *words, size_t size);
// Gives the session's GPUs the memory of all such pointers in SIZE bytes at DATA, which go to
// memory of the GPU, where a kernel may find them.
void host_pointers_seen(const struct box_session *session, const void *data, size_t size);
// Returns the GPU's address of the memory at ADDRESS, which the GPU gets if it is host memory.
uint64_t host_pointers_address(uint64_t address);
// Gives the session's GPUs the memory of all such pointers in SIZE bytes at WORDS. Replaces
// pointers to memory that has another address there.
void host_pointers_resolve(const struct box_session *session, void *words, size_t size);

#endif
