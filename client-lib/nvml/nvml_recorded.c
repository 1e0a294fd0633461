// SPDX-License-Identifier: BSD-3-Clause
// The functions that return answers which the box has recorded from its own NVML: one for each line
// of proto/nvml_questions.h. If the box has no answer, the function is not supported.
#include <stddef.h>
#include <string.h>

#include "client-lib/nvml/nvml_library.h"
#include "common/base/log.h"

// ---- searching the answers ----

struct lookup {
    unsigned number, arguments;
    void *out;
    size_t size;
    bool is_text; // may be shorter than SIZE
};

// Finds the answer to LOOKUP. The data are from the network, so all sizes are checked before use.
static int find_answer(const struct lookup *lookup, const uint8_t *bytes, size_t size)
{
    struct nvml_answer answer;

    for (size_t at = 0; size - at >= sizeof(answer); at += sizeof(answer) + answer.size) {
        memcpy(&answer, bytes + at, sizeof(answer));
        const uint8_t *data = bytes + at + sizeof(answer);
        if (answer.size > size - at - sizeof(answer))
            return NVML_NOT_SUPPORTED;
        if (answer.number != lookup->number || answer.arguments != lookup->arguments)
            continue;
        if (answer.result)
            return answer.result;
        if (lookup->is_text && answer.size && !data[answer.size - 1])
            return nvml_put_text((const char *)data, lookup->out, (unsigned)lookup->size);
        if (lookup->is_text || answer.size != lookup->size)
            return NVML_NOT_SUPPORTED;
        memcpy(lookup->out, data, answer.size);
        return NVML_OK;
    }
    log_debug("the box has no answer number=%u arguments=0x%x", lookup->number, lookup->arguments);
    return NVML_NOT_SUPPORTED;
}

int recorded_answer(const struct lease_gpu *gpu, unsigned number, unsigned arguments, void *out,
                    size_t size)
{
    const struct lookup lookup = {
        .number = number, .arguments = arguments, .out = out, .size = size};

    return find_answer(&lookup, gpu->answers, gpu->answers_size);
}

static int answer_device(void *device, const struct lookup *lookup)
{
    struct lease_gpu *gpu;
    int result = lookup->out ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    result = find_answer(lookup, gpu->answers, gpu->answers_size);
    nvml_leave();
    return result;
}

// Answers queries about the machine from the data of the first GPU.
static int answer_system(const struct lookup *lookup)
{
    int result = lookup->out ? nvml_enter() : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    result = nvml_state.count
                 ? find_answer(lookup, nvml_state.gpus[0].system, nvml_state.gpus[0].system_size)
                 : NVML_NOT_SUPPORTED;
    nvml_leave();
    return result;
}

// ---- forms of answers ----

static int answer_value(void *device, unsigned number, unsigned arguments, void *out, size_t size)
{
    return answer_device(device, &(struct lookup){number, arguments, out, size, false});
}

static int answer_text(void *device, unsigned number, unsigned arguments, char *out, unsigned size)
{
    return answer_device(device, &(struct lookup){number, arguments, out, size, true});
}

static int answer_words(void *device, unsigned number, unsigned *const *out, unsigned count)
{
    unsigned words[4];
    int result = answer_value(device, number, 0, words, count * sizeof(words[0]));

    for (unsigned i = 0; !result && i < count; i++) {
        if (!out[i])
            return NVML_INVALID_ARGUMENT;
        *out[i] = words[i];
    }
    return result;
}

static int check_version(const void *out, unsigned version)
{
    unsigned given;

    if (!out)
        return NVML_INVALID_ARGUMENT;
    memcpy(&given, out, sizeof(given));
    return given == version ? NVML_OK : NVML_VERSION_MISMATCH;
}

static int answer_versioned(void *device, unsigned number, void *out, unsigned version, size_t size)
{
    int result = check_version(out, version);

    return result ? result : answer_value(device, number, 0, out, size);
}

// Returns an argument as one byte. Larger values become 0xff, for which no answer is recorded.
static unsigned nvml_recorded_argument(unsigned value)
{
    return value < 0xff ? value : 0xff;
}

// Answers for two GPUs of different boxes: they are as distant as the library can express, and have
// no access to each other's memory.
int recorded_between_boxes(unsigned number, void *out)
{
    enum { PEERS = 201, LEVEL_SYSTEM = 50, PEERS_NOT_SUPPORTED = 5 };
    const unsigned value = number == QUESTION_ANCESTOR ? LEVEL_SYSTEM : PEERS_NOT_SUPPORTED;

    if (number != QUESTION_ANCESTOR && number != PEERS)
        return NVML_NOT_SUPPORTED;
    memcpy(out, &value, sizeof(value));
    return NVML_OK;
}

// GPUs of two boxes have no common links.
static int answer_other(void *device, void *other, unsigned number, unsigned second, void *out,
                        size_t size)
{
    struct lease_gpu *gpu, *peer;
    int result = out ? nvml_enter_device(other, &peer) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    unsigned box = peer->box, number_of_peer = peer->said.number;
    nvml_leave();
    result = nvml_enter_device(device, &gpu);
    if (result)
        return result;
    result = gpu->box == box
                 ? recorded_answer(gpu, number,
                                   nvml_recorded_argument(number_of_peer) | second << 8, out, size)
                 : recorded_between_boxes(number, out);
    nvml_leave();
    return result;
}

// ---- the functions ----

#define VALUE(number, name, bytes) \
    NVML_EXPORT(name, void *device, void *out) \
    { \
        return answer_value(device, number, 0, out, bytes); \
    }
#define VALUE_OF(number, name, count, bytes) \
    NVML_EXPORT(name, void *device, unsigned a, void *out) \
    { \
        return answer_value(device, number, nvml_recorded_argument(a), out, bytes); \
    }
#define VALUE_OF2(number, name, count, count2, bytes) \
    NVML_EXPORT(name, void *device, unsigned a, unsigned b, void *out) \
    { \
        return answer_value(device, number, \
                            nvml_recorded_argument(a) | nvml_recorded_argument(b) << 8, out, \
                            bytes); \
    }
#define VALUE_OF3(number, name, count, count2, count3, bytes) \
    NVML_EXPORT(name, void *device, unsigned a, unsigned b, unsigned c, void *out) \
    { \
        return answer_value(device, number, \
                            nvml_recorded_argument(a) | nvml_recorded_argument(b) << 8 | \
                                nvml_recorded_argument(c) << 16, \
                            out, bytes); \
    }
#define PAIR(number, name) \
    NVML_EXPORT(name, void *device, unsigned *a, unsigned *b) \
    { \
        return answer_words(device, number, (unsigned *const[]){a, b}, 2); \
    }
#define TRIPLE(number, name) \
    NVML_EXPORT(name, void *device, unsigned *a, unsigned *b, unsigned *c) \
    { \
        return answer_words(device, number, (unsigned *const[]){a, b, c}, 3); \
    }
#define QUAD(number, name) \
    NVML_EXPORT(name, void *device, unsigned *a, unsigned *b, unsigned *c, unsigned *d) \
    { \
        return answer_words(device, number, (unsigned *const[]){a, b, c, d}, 4); \
    }
#define TEXT(number, name, bytes) \
    NVML_EXPORT(name, void *device, char *text, unsigned size) \
    { \
        return answer_text(device, number, 0, text, size); \
    }
#define TEXT_OF(number, name, count, bytes) \
    NVML_EXPORT(name, void *device, unsigned a, char *text, unsigned size) \
    { \
        return answer_text(device, number, nvml_recorded_argument(a), text, size); \
    }
#define VERSIONED(number, name, version, bytes) \
    NVML_EXPORT(name, void *device, void *out) \
    { \
        return answer_versioned(device, number, out, NVML_STRUCTURE(version, bytes), bytes); \
    }
#define OTHER(number, name, bytes) \
    NVML_EXPORT(name, void *device, void *other, void *out) \
    { \
        return answer_other(device, other, number, 0, out, bytes); \
    }
#define OTHER_OF(number, name, count, bytes) \
    NVML_EXPORT(name, void *device, void *other, unsigned a, void *out) \
    { \
        return answer_other(device, other, number, nvml_recorded_argument(a), out, bytes); \
    }
#define SYSTEM_VALUE(number, name, bytes) \
    NVML_EXPORT(name, void *out) \
    { \
        return answer_system(&(struct lookup){number, 0, out, bytes, false}); \
    }
#define SYSTEM_TEXT(number, name, bytes) \
    NVML_EXPORT(name, char *text, unsigned size) \
    { \
        return answer_system(&(struct lookup){number, 0, text, size, true}); \
    }
#define SYSTEM_VERSIONED(number, name, version, bytes) \
    NVML_EXPORT(name, void *out) \
    { \
        int result = check_version(out, NVML_STRUCTURE(version, bytes)); \
        return result ? result : answer_system(&(struct lookup){number, 0, out, bytes, false}); \
    }
#define OURS(...)
#define OURS_OF(...)
#define VARIANT(...)

NVML_QUESTIONS(VALUE, OURS, VALUE_OF, OURS_OF, VALUE_OF2, VALUE_OF3, PAIR, TRIPLE, QUAD, TEXT,
               TEXT_OF, VERSIONED, VARIANT, OTHER, OTHER_OF, SYSTEM_VALUE, SYSTEM_TEXT,
               SYSTEM_VERSIONED)

// ---- functions with several versions ----

NVML_EXPORT(nvmlDeviceGetGpuFabricInfoV, void *device, void *out)
{
    int result = check_version(out, NVML_STRUCTURE(3, 40));

    return result == NVML_VERSION_MISMATCH
               ? answer_versioned(device, 181, out, NVML_STRUCTURE(2, 36), 36)
               : answer_versioned(device, 187, out, NVML_STRUCTURE(3, 40), 40);
}
