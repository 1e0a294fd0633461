// SPDX-License-Identifier: BSD-3-Clause
// Memory that the program reads and writes at the addresses at which the GPU does.
//
// The GPU's part is memory of the box. This process has a copy of it in a file of memory, which it maps twice: at the
// GPU's address, where the program finds it (the front), and somewhere else, where this library does (the back).
// The front is closed to the program wherever the GPU's part may be the newer one. Touching it there is a fault, which
// brings the bytes; work for the GPU first sends what the program has written, and closes the front.
//
// It is cut into chunks (mirror_chunks.h):
//
//     chunk       this process's copy       the GPU's      front
//     FRESH       zeros                     anything       closed
//     AWAY        old                       newest         closed
//     SHARED      newest                    newest         may be read
//     WRITTEN     newest                    old            open
//
// Page-locked memory, where the box cannot map this host's, is mirrored in the same way. Its other part is memory of the
// box's host, which nobody has to wait for, and what moves is what has been changed (host_changes.h): both sides may write
// to it at any time. It is closed when work is sent, when a call waits for the GPU, and when it has waited.
//
// A program that obeys the rules of managed memory (nothing touches it while a GPU works that may) sees what it would on
// a machine of its own. One that does not waits for the GPU at its fault; nothing is lost then either.
#ifndef RGPU_CLIENT_MIRROR_H
#define RGPU_CLIENT_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/managed/mirror_chunks.h"

// Maps a copy of memory that the address book knows. The first one starts what catches faults.
CUresult mirror_add(const struct mirror_place *place);
// Forgets the mirror at BASE, and leaves its addresses reserved. False: there is none.
bool mirror_remove(uint64_t base);

bool mirror_knows(uint64_t base);

// A part of one that is in parts comes, or goes.
CUresult mirror_add_part(uint64_t address, uint64_t size);
void mirror_remove_part(uint64_t address);

// Only work of STREAM touches the mirror at BASE; 0: that of any stream does. False: there is none.
bool mirror_attach(uint64_t base, uint64_t stream);
// Sends what the program has written of a range, which it may still read afterwards.
CUresult mirror_send(uint64_t address, size_t size);
// The next fault in the range brings all of it.
void mirror_expect(uint64_t address, size_t size);

// Before work of STREAM (0: of any) goes to a GPU of the session: sends what the program has written, and closes what
// such work may touch. Of page-locked memory only, when a call waits for the GPU, and when it has.
CUresult mirrors_hand_over(const struct box_session *session, uint64_t stream);
CUresult mirrors_hand_over_host(const struct box_session *session);
// A context is about to go, and has gone.
void mirrors_context_ends(uint64_t context);
void mirrors_context_gone(uint64_t context);

// Of a fault: lets the program go on at ADDRESS. False: there is nothing of ours, or it cannot be brought.
bool mirror_touch(uint64_t address, bool write);

#endif
