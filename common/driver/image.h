// SPDX-License-Identifier: BSD-3-Clause
// Images, as programs pass them to cuModuleLoadData: detects kind and size, and reads fat binaries.
// Functions are thread-safe.
#ifndef RGPU_COMMON_DRIVER_IMAGE_H
#define RGPU_COMMON_DRIVER_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_kind {
    IMAGE_FATBIN = 1, // header, and entries for several architectures
    IMAGE_ELF,        // machine code for one architecture
    IMAGE_PTX,        // text; `size` does not count a final NUL
};
const char *image_kind_name(enum image_kind kind);

struct image {
    enum image_kind kind;
    const void *data;
    size_t size; // bytes
};

// Detects the image at a pointer of the program: fat binary wrapper (of nvcc's start-up code), fat
// binary, ELF or PTX. Only the image itself states its length, so the program is trusted. Returns
// 0, -EBADMSG for anything else, or -EINVAL for NULL.
int image_locate(const void *pointer, struct image *out) __attribute__((warn_unused_result));

// Detects an image in SIZE bytes from an untrusted source; wrappers are not allowed. PTX ends at a
// NUL or at SIZE. Returns -EBADMSG for anything else and for a truncated image.
int image_parse(const void *data, size_t size, struct image *out)
    __attribute__((warn_unused_result));

enum fatbin_compression { FATBIN_STORED, FATBIN_LZ4, FATBIN_ZSTD };

struct fatbin_entry {
    enum image_kind kind; // IMAGE_PTX or IMAGE_ELF
    unsigned int arch;    // 10 * compute capability, such as 90
    unsigned int major;   // version of the PTX or ELF format
    unsigned int minor;
    enum fatbin_compression compression;
    const void *payload; // pointer into the fat binary
    size_t payload_size; // stored bytes, without padding
    size_t size;         // decompressed bytes
};

struct fatbin_iterator {
    const uint8_t *next;
    const uint8_t *end;
};

// Begins to iterate over a fat binary. Returns 0, or -EBADMSG if DATA is not a complete one.
int fatbin_open(const void *data, size_t size, struct fatbin_iterator *iterator)
    __attribute__((warn_unused_result));

// Returns 1 and the next entry, 0 after the last one, or -EBADMSG if the entry is damaged. Skips
// entries of other kinds, such as debug information.
int fatbin_next(struct fatbin_iterator *iterator, struct fatbin_entry *entry)
    __attribute__((warn_unused_result));

// Returns the decompressed bytes of an entry, followed by a NUL. The caller frees *OUT. *SIZE does
// not count final NULs of a text. -EBADMSG: damaged data; -EFBIG: above FATBIN_ENTRY_MAX; -ENOMEM.
#define FATBIN_ENTRY_MAX ((size_t)1 << 30)
int fatbin_read(const struct fatbin_entry *entry, char **out, size_t *size)
    __attribute__((warn_unused_result));

// Returns true if a device of architecture ARCH (such as 90) can load the entry: machine code runs
// on devices of its major version, PTX on devices that are not older.
bool fatbin_may_load(const struct fatbin_entry *entry, unsigned int arch);

// Returns true if the string NAME is, or may be, in parts of the image that a device of
// architecture ARCH (0: any) can load. NAME counts as present if the image is damaged, or if more
// than MOST bytes would have to be read. Images contain the names of functions that their code
// calls.
bool image_may_name(const void *data, size_t size, unsigned int arch, const char *name,
                    size_t most);

// Extracts the PTX for the highest architecture up to MAX_ARCH from an image of any kind. The
// caller frees *TEXT, which ends with a NUL that *SIZE does not count. -ENOENT: the image has no
// such PTX; other errors as fatbin_read.
int image_extract_ptx(const struct image *image, unsigned int max_arch, char **text, size_t *size)
    __attribute__((warn_unused_result));

#endif
