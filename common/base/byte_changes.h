// SPDX-License-Identifier: BSD-3-Clause
// Finds the changed bytes of a range of memory. Two sides have copies of the range, and each
// remembers the other side's content. They send each other only the bytes that they have changed,
// so writes of both sides survive.
//
// Changes are encoded as a sequence of runs: start (4 bytes, from the start of the range), length
// (4 bytes), and the bytes.
#ifndef RGPU_COMMON_BYTE_CHANGES_H
#define RGPU_COMMON_BYTE_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The range must be smaller than this.
#define BYTE_CHANGES_PIECE_MAX (UINT64_C(1) << 32)

// Writes the changes from KNOWN to NOW, beginning at offset *AT, to OUT of ROOM (more than 8)
// bytes, and updates KNOWN. Other threads may write to NOW. Sets *AT to the offset at which OUT was
// full, or to SIZE. Returns the number of bytes written to OUT.
size_t byte_changes_pack(const uint8_t *now, uint8_t *known, size_t size, size_t *at, void *out,
                         size_t room);
// Returns true if NOW differs from KNOWN.
bool byte_changes_any(const uint8_t *now, const uint8_t *known, size_t size);
// Applies the changes to MEMORY and KNOWN, of SIZE bytes each. Single words come last: one may be a
// flag for the others. Returns false, without a change, if they do not fit.
bool byte_changes_apply(const void *changes, size_t bytes, uint8_t *memory, uint8_t *known,
                        size_t size) __attribute__((warn_unused_result));
// Copies the bytes of the changes to GATHERED, and sets those of TOUCHED to 1, of SIZE bytes each.
// Returns false, without a change, if they do not fit.
bool byte_changes_gather(const void *changes, size_t bytes, uint8_t *gathered, uint8_t *touched,
                         size_t size) __attribute__((warn_unused_result));
// Applies only changes of up to a word, or only longer ones. The caller has packed them.
void byte_changes_apply_some(const void *changes, size_t bytes, uint8_t *memory, uint8_t *known,
                             bool words);

#endif
