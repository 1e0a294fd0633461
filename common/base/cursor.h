// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes little-endian records with bounds checks. Failure is sticky: after it, reads
// return zeros and writes do nothing, so a decoder checks once, at its end.
#ifndef RGPU_COMMON_CURSOR_H
#define RGPU_COMMON_CURSOR_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor_reader {
    const uint8_t *next;
    const uint8_t *end;
    bool failed;
};

struct cursor_writer {
    uint8_t *start;
    uint8_t *next;
    uint8_t *end;
    bool failed;
};

static inline struct cursor_reader cursor_reader_on(const void *data, size_t size)
{
    return (struct cursor_reader){.next = data, .end = (const uint8_t *)data + size};
}

static inline size_t cursor_left(const struct cursor_reader *reader)
{
    return reader->failed ? 0 : (size_t)(reader->end - reader->next);
}

static inline void cursor_fail(struct cursor_reader *reader)
{
    reader->failed = true;
}

// Returns a pointer to the next SIZE bytes of the source, or NULL (a failure) if there are fewer.
static inline const void *cursor_take(struct cursor_reader *reader, size_t size)
{
    if (reader->failed || (size_t)(reader->end - reader->next) < size) {
        reader->failed = true;
        return NULL;
    }
    const uint8_t *view = reader->next;
    reader->next += size;
    return view;
}

static inline void cursor_copy(struct cursor_reader *reader, void *out, size_t size)
{
    const void *view = cursor_take(reader, size);

    if (view)
        memcpy(out, view, size);
    else
        memset(out, 0, size);
}

static inline uint8_t cursor_u8(struct cursor_reader *reader)
{
    uint8_t value;
    cursor_copy(reader, &value, sizeof(value));
    return value;
}

static inline uint16_t cursor_u16(struct cursor_reader *reader)
{
    uint16_t value;
    cursor_copy(reader, &value, sizeof(value));
    return le16toh(value);
}

static inline uint32_t cursor_u32(struct cursor_reader *reader)
{
    uint32_t value;
    cursor_copy(reader, &value, sizeof(value));
    return le32toh(value);
}

static inline uint64_t cursor_u64(struct cursor_reader *reader)
{
    uint64_t value;
    cursor_copy(reader, &value, sizeof(value));
    return le64toh(value);
}

static inline struct cursor_writer cursor_writer_on(void *data, size_t size)
{
    return (struct cursor_writer){.start = data, .next = data, .end = (uint8_t *)data + size};
}

static inline size_t cursor_written(const struct cursor_writer *writer)
{
    return (size_t)(writer->next - writer->start);
}

// Returns memory for SIZE bytes, which the caller fills in, or NULL (a failure) if it does not fit.
static inline void *cursor_reserve(struct cursor_writer *writer, size_t size)
{
    if (writer->failed || (size_t)(writer->end - writer->next) < size) {
        writer->failed = true;
        return NULL;
    }
    uint8_t *room = writer->next;
    writer->next += size;
    return room;
}

static inline void cursor_put(struct cursor_writer *writer, const void *data, size_t size)
{
    void *room = cursor_reserve(writer, size);

    if (room && size)
        memcpy(room, data, size);
}

static inline void cursor_put_u8(struct cursor_writer *writer, uint8_t value)
{
    cursor_put(writer, &value, sizeof(value));
}

static inline void cursor_put_u16(struct cursor_writer *writer, uint16_t value)
{
    value = htole16(value);
    cursor_put(writer, &value, sizeof(value));
}

static inline void cursor_put_u32(struct cursor_writer *writer, uint32_t value)
{
    value = htole32(value);
    cursor_put(writer, &value, sizeof(value));
}

static inline void cursor_put_u64(struct cursor_writer *writer, uint64_t value)
{
    value = htole64(value);
    cursor_put(writer, &value, sizeof(value));
}

#endif
