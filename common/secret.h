// Keys, random bytes and message authentication.
#ifndef RGPU_COMMON_SECRET_H
#define RGPU_COMMON_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SECRET_HMAC_BYTES = 32 };

// Reads a key file of 1..SIZE bytes (a trailing newline is not part of the key); *used is set to the
// key's length. Refused with a logged reason: anything but a regular file owned by root or by the
// caller, any access for group or others (-EPERM), an empty or too long file (-EINVAL).
int secret_read_file(const char *path, uint8_t *key, size_t size, size_t *used)
    __attribute__((warn_unused_result));

// Compares in a time that depends on SIZE alone.
bool secret_equal(const void *a, const void *b, size_t size) __attribute__((warn_unused_result));

// Fills DATA from the kernel's generator; never fails once the system is up (it blocks until then).
int secret_random(void *data, size_t size) __attribute__((warn_unused_result));

// Overwrites a key in a way that the compiler does not remove.
void secret_clear(void *data, size_t size);

struct secret_part {
    const void *data;
    size_t size;
};

// HMAC-SHA256 over the concatenation of the parts.
void secret_hmac_sha256(const void *key, size_t key_size, const struct secret_part *parts,
                        size_t part_count, uint8_t out[SECRET_HMAC_BYTES]);

#endif
