// SPDX-License-Identifier: BSD-3-Clause
// Layout of fat binaries, as CUDA's tools write them; little-endian, aligned to 8 bytes.
//
//     wrapper (in the program's data) -> header | entry header, payload | entry header, payload ...
#ifndef RGPU_COMMON_DRIVER_FATBIN_FORMAT_H
#define RGPU_COMMON_DRIVER_FATBIN_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u

struct fatbin_wrapper {
    uint32_t magic;
    uint32_t version; // 2 for a program with device code linked at build time, else 1
    const void *fatbin;
    const void *more;
};

struct fatbin_header {
    uint32_t magic;
    uint16_t version;
    uint16_t header_size; // bytes of this header
    uint64_t size;        // bytes after this header
};
_Static_assert(sizeof(struct fatbin_header) == 16, "as on disk");

enum { FATBIN_KIND_PTX = 1, FATBIN_KIND_ELF = 2 };

#define FATBIN_FLAG_LZ4 0x2000u
#define FATBIN_FLAG_ZSTD 0x8000u

struct fatbin_entry_header {
    uint16_t kind;
    uint16_t version;
    uint32_t header_size;     // bytes from here to the payload
    uint64_t padded_size;     // bytes of the payload with padding
    uint32_t compressed_size; // bytes of the payload without padding; 0: not compressed
    uint32_t unknown_20;
    uint16_t minor;
    uint16_t major;
    uint32_t arch;
    uint32_t name_offset;
    uint32_t name_size;
    uint64_t flags;
    uint64_t unknown_48;
    uint64_t uncompressed_size; // bytes; 0: not compressed
};
_Static_assert(sizeof(struct fatbin_entry_header) == 64, "as on disk");
_Static_assert(offsetof(struct fatbin_entry_header, arch) == 28, "as on disk");
_Static_assert(offsetof(struct fatbin_entry_header, flags) == 40, "as on disk");

#endif
