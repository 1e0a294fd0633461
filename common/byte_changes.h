// SPDX-License-Identifier: BSD-3-Clause
// What of a piece of memory is not what it was: two sides that hold copies of it, and remember what the other one
// knows, tell each other the bytes that they have changed and no others, so that neither loses what it wrote.
//
// Changes are runs, one behind the other: where it begins (4 bytes, from the start of the piece), how long it is
// (4 bytes), and its bytes.
#ifndef RGPU_COMMON_BYTE_CHANGES_H
#define RGPU_COMMON_BYTE_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The piece is smaller than this.
#define BYTE_CHANGES_PIECE_MAX (UINT64_C(1) << 32)

// Writes to OUT how NOW, which others may be writing to, differs from KNOWN, from *AT to SIZE, and makes KNOWN that.
// *AT becomes where it ended, as ROOM (more than 8) was used up; SIZE: nothing is left. How many bytes were written.
size_t byte_changes_pack(const uint8_t *now, uint8_t *known, size_t size, size_t *at, void *out,
                         size_t room);
// Makes the changes in both, of SIZE bytes. False: they do not fit, and nothing was changed.
bool byte_changes_apply(const void *changes, size_t bytes, uint8_t *memory, uint8_t *known,
                        size_t size) __attribute__((warn_unused_result));

#endif
