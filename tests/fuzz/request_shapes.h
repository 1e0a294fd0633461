// SPDX-License-Identifier: BSD-3-Clause
// The form of requests for the fuzzer: the offsets of their handles, addresses and sizes. Generated
// from proto/cuda.spec (request_shapes.c), so a new call is fuzzed at once.
#ifndef RGPU_TESTS_FUZZ_REQUEST_SHAPES_H
#define RGPU_TESTS_FUZZ_REQUEST_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

enum request_field_kind {
    FIELD_HANDLE,    // of an object that is there
    FIELD_MINTED,    // of an object that the request makes
    FIELD_ADDRESS,   // of a GPU
    FIELD_DEVICE,    // of the session
    FIELD_SIZE,      // 8 bytes: a size, a host address, a token
    FIELD_NUMBER,    // up to 4 bytes: flags, an enumeration, a count
    FIELD_TAIL,      // the length of what follows the arguments
    FIELD_STRUCTURE, // of CUDA, or an array
};

struct request_field {
    uint16_t offset, size; // in the arguments
    uint8_t kind;          // enum request_field_kind
    uint8_t handle;        // enum handle_kind
};

enum request_tail { REQUEST_NO_TAIL, REQUEST_BYTES, REQUEST_STRING };

struct request_shape {
    uint16_t op;
    uint16_t args_size;
    const struct request_field *fields;
    uint16_t field_count;
    uint8_t tail;            // enum request_tail
    bool answers_address;    // the reply holds an address of the GPU
    uint16_t address_offset; // in the reply
};

extern const struct request_shape request_shapes[];
extern const unsigned request_shape_count;

// NULL if there is no such request.
const struct request_shape *request_shape_of(unsigned op);

// An input cannot know which addresses the GPU will give, so it names them: the address of the
// INDEX-th answer that held one, and an offset. The target puts the real one in its place before it
// serves the request.
#define REQUEST_ADDRESS_MARK UINT64_C(0xadd7e55)
#define REQUEST_ADDRESS(index, offset) \
    (REQUEST_ADDRESS_MARK << 32 | (uint64_t)(index) << 24 | (uint64_t)(offset))

#endif
