// SPDX-License-Identifier: BSD-3-Clause
// Recognises what programs hand to cuModuleLoadData and its kin, says how long it is, and reads fat
// binaries as CUDA's tools write them.
//
// Every function may be called from any thread; nothing here keeps state.
#ifndef RGPU_COMMON_DRIVER_IMAGE_H
#define RGPU_COMMON_DRIVER_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_kind {
    IMAGE_FATBIN = 1, // header and entries for several architectures
    IMAGE_ELF,        // code for one architecture
    IMAGE_PTX,        // text; the size counts no NUL
};
const char *image_kind_name(enum image_kind kind);

struct image {
    enum image_kind kind;
    const void *data;
    size_t size; // bytes
};

// Finds the image at the program's pointer: a fatbin wrapper (as nvcc's start-up code passes it), a
// fatbin, an ELF or a text. The program vouches for the memory: the only bounds are those in the
// image itself. -EBADMSG for anything else, -EINVAL for NULL.
int image_locate(const void *pointer, struct image *out) __attribute__((warn_unused_result));

// The same for bytes that came from elsewhere; no wrapper, nothing beyond SIZE is read. A text ends
// at its NUL or at SIZE. -EBADMSG where it is no image or not all of it is there.
int image_parse(const void *data, size_t size, struct image *out)
    __attribute__((warn_unused_result));

enum fatbin_compression { FATBIN_STORED, FATBIN_LZ4, FATBIN_ZSTD };

struct fatbin_entry {
    enum image_kind kind; // IMAGE_PTX or IMAGE_ELF
    unsigned int arch;    // 10 * compute capability: 90
    unsigned int major;   // of the PTX or ELF format
    unsigned int minor;
    enum fatbin_compression compression;
    const void *payload; // within the fatbin
    size_t payload_size; // bytes as stored, without padding
    size_t size;         // bytes when read
};

struct fatbin_iterator {
    const uint8_t *next;
    const uint8_t *end;
};

// -EBADMSG where DATA is not a whole fatbin.
int fatbin_open(const void *data, size_t size, struct fatbin_iterator *iterator)
    __attribute__((warn_unused_result));

// 1 and the next entry, 0 after the last, -EBADMSG for a damaged one. Entries of other kinds (debug
// information, intermediate code) are passed over.
int fatbin_next(struct fatbin_iterator *iterator, struct fatbin_entry *entry)
    __attribute__((warn_unused_result));

// Returns the entry's bytes, decompressed, with a NUL after them; the caller frees *OUT. *SIZE
// counts no trailing NULs of a text. -EBADMSG if the data are damaged, -EFBIG above
// FATBIN_ENTRY_MAX, -ENOMEM.
#define FATBIN_ENTRY_MAX ((size_t)1 << 30)
int fatbin_read(const struct fatbin_entry *entry, char **out, size_t *size)
    __attribute__((warn_unused_result));

// Returns true if a device of architecture ARCH (90) can load the entry: code runs on devices of
// its own major version, a text on all that are not older.
bool fatbin_may_load(const struct fatbin_entry *entry, unsigned int arch);

// Returns true if NAME is, or may be, in the parts of the image of SIZE bytes that a device of
// architecture ARCH (0: any) can load. It may be if the image is damaged or if reading it takes
// more than MOST bytes. An image names the functions that its code calls, in text and binary.
bool image_may_name(const void *data, size_t size, unsigned int arch, const char *name,
                    size_t most);

// The PTX for the highest architecture that is not above MAX_ARCH (90), out of any image. The
// caller frees *TEXT, which ends with a NUL that *SIZE does not count. -ENOENT where the image is
// sound but has no such PTX; else as fatbin_read.
int image_extract_ptx(const struct image *image, unsigned int max_arch, char **text, size_t *size)
    __attribute__((warn_unused_result));

#endif
