// SPDX-License-Identifier: BSD-3-Clause
// Mirrors memory that the program and the GPU use at the same addresses.
//
// The device copy is memory of the box. This process has its own copy, mapped twice: at the GPU's
// address, for the program (the program view), and elsewhere, for this library (the library view).
// The program view is protected wherever the device copy may be newer. An access there faults, and
// the library then fetches the bytes. Before the library sends work to the GPU, it sends what the
// program wrote and protects the program view.
//
// A mirror consists of chunks (mirror_chunks.h):
//
//     chunk       this process's copy       the GPU's      program view
//     FRESH       zeros                     anything       closed
//     AWAY        old                       newest         closed
//     SHARED      newest                    newest         may be read
//     WRITTEN     newest                    old            open
//
// Page-locked memory is mirrored in the same way if the box cannot map this host's. Its device copy
// is memory of the box's host, so no transfer waits for the GPU. Only changed bytes are transferred
// (host_changes.h), because both sides may write at any time. Its program view is protected when
// work is sent, when a call waits for the GPU, and after that wait.
//
// A program that obeys the rules of managed memory (it touches no memory that running GPU work may
// use) sees the same bytes as with a local GPU. If a program breaks the rules, its faults wait for
// the GPU, but no data is lost. Thread-safe.
#ifndef RGPU_CLIENT_MIRROR_H
#define RGPU_CLIENT_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/managed/mirror_chunks.h"

// Creates a mirror of the memory at PLACE, which is copied. The memory is in the address book. The
// first call starts the guard (guard.h).
CUresult mirror_add(const struct mirror_place *place);
// Removes the mirror that begins at BASE but keeps its addresses reserved. Returns false if there
// is no such mirror.
bool mirror_remove(uint64_t base);

// Returns true if a mirror begins at BASE.
bool mirror_knows(uint64_t base);
// Makes the memory of a mirror FRESH again, for its next owner. Returns false if no mirror begins
// at BASE.
bool mirror_renew(uint64_t base);

// Adds or removes one part of a mirror that has place.in_parts. SIZE: bytes.
CUresult mirror_add_part(uint64_t address, uint64_t size);
void mirror_remove_part(uint64_t address);

// Sets the only stream (a handle) whose work accesses the mirror at BASE; 0 for all streams.
// Returns false if there is no such mirror.
bool mirror_attach(uint64_t base, uint64_t stream);
// Sends the program's writes to the mirror at ADDRESS, and protects that range. The program may
// still access the range: the access faults.
CUresult mirror_send(uint64_t address, size_t size);
// Makes the next fault in the range fetch the whole range.
void mirror_expect(uint64_t address, size_t size);

// Sends the program's writes, and protects the mirrors that work of STREAM (0: any stream) may
// access. Called before such work goes to a GPU of the session. mirrors_hand_over_host does this
// only for page-locked memory; called before and after a call waits for the GPU.
CUresult mirrors_hand_over(const struct box_session *session, uint64_t stream);
CUresult mirrors_hand_over_host(const struct box_session *session);
// Called before CONTEXT (a handle) is destroyed, and afterwards. The second call removes its
// mirrors.
void mirrors_context_ends(uint64_t context);
void mirrors_context_gone(uint64_t context);

// Handles a fault: makes ADDRESS accessible for reading, or if WRITE for writing. Returns false if
// no mirror contains ADDRESS or its bytes cannot be fetched.
bool mirror_touch(uint64_t address, bool write);

#endif
