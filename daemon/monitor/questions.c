// SPDX-License-Identifier: BSD-3-Clause
// All functions of the library are called through one type. By the calling convention of x86-64
// each parameter has its own register, and a function with fewer parameters ignores the rest.
#include "daemon/monitor/questions.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/nvml_abi.h"
#include "proto/nvml_questions.h"

typedef uintptr_t word;
typedef int function(word, word, word, word, word);

enum shape { SHAPE_VALUE, SHAPE_WORDS, SHAPE_TEXT, SHAPE_VERSIONED };
enum subject { SUBJECT_DEVICE, SUBJECT_OTHER, SUBJECT_SYSTEM };

struct nvml_question {
    const char *name;
    unsigned short number;
    enum shape shape;
    enum subject subject;
    unsigned char counts[3]; // number of values of each argument; 0: no such argument
    unsigned short bytes;
    unsigned version;
};

#define ROW(of_number, of_name, of_shape, of_subject, a, b, c, of_bytes, of_version) \
    {#of_name, of_number, SHAPE_##of_shape, SUBJECT_##of_subject, {a, b, c}, of_bytes, of_version},
#define VALUE(number, name, bytes) ROW(number, name, VALUE, DEVICE, 0, 0, 0, bytes, 0)
#define VALUE_OF(number, name, a, bytes) ROW(number, name, VALUE, DEVICE, a, 0, 0, bytes, 0)
#define VALUE_OF2(number, name, a, b, bytes) ROW(number, name, VALUE, DEVICE, a, b, 0, bytes, 0)
#define VALUE_OF3(number, name, a, b, c, bytes) ROW(number, name, VALUE, DEVICE, a, b, c, bytes, 0)
#define PAIR(number, name) ROW(number, name, WORDS, DEVICE, 0, 0, 0, 8, 0)
#define TRIPLE(number, name) ROW(number, name, WORDS, DEVICE, 0, 0, 0, 12, 0)
#define QUAD(number, name) ROW(number, name, WORDS, DEVICE, 0, 0, 0, 16, 0)
#define TEXT(number, name, bytes) ROW(number, name, TEXT, DEVICE, 0, 0, 0, bytes, 0)
#define TEXT_OF(number, name, a, bytes) ROW(number, name, TEXT, DEVICE, a, 0, 0, bytes, 0)
#define VERSIONED(number, name, version, bytes) \
    ROW(number, name, VERSIONED, DEVICE, 0, 0, 0, bytes, NVML_STRUCTURE(version, bytes))
#define OTHER(number, name, bytes) ROW(number, name, VALUE, OTHER, 0, 0, 0, bytes, 0)
#define OTHER_OF(number, name, b, bytes) ROW(number, name, VALUE, OTHER, 0, b, 0, bytes, 0)
#define SYSTEM_VALUE(number, name, bytes) ROW(number, name, VALUE, SYSTEM, 0, 0, 0, bytes, 0)
#define SYSTEM_TEXT(number, name, bytes) ROW(number, name, TEXT, SYSTEM, 0, 0, 0, bytes, 0)
#define SYSTEM_VERSIONED(number, name, version, bytes) \
    ROW(number, name, VERSIONED, SYSTEM, 0, 0, 0, bytes, NVML_STRUCTURE(version, bytes))

static const struct nvml_question questions[] = {
    NVML_QUESTIONS(VALUE, VALUE, VALUE_OF, VALUE_OF, VALUE_OF2, VALUE_OF3, PAIR, TRIPLE, QUAD, TEXT,
                   TEXT_OF, VERSIONED, VERSIONED, OTHER, OTHER_OF, SYSTEM_VALUE, SYSTEM_TEXT,
                   SYSTEM_VERSIONED)};
enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

#define FIELD(field, scopes) {field, scopes},
static const struct {
    unsigned short field, scopes;
} fields[] = {NVML_FIELDS(FIELD)};

static function *found[QUESTIONS], *field_values;

void questions_find(void *library)
{
    for (unsigned i = 0; i < QUESTIONS; i++) {
        void *address = dlsym(library, questions[i].name);
        memcpy(&found[i], &address, sizeof(address));
    }
    void *address = dlsym(library, "nvmlDeviceGetFieldValues");
    memcpy(&field_values, &address, sizeof(address));
}

static FILE *out; // destination of answers

static void print_hex(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        fprintf(out, "%02x", ((const unsigned char *)bytes)[i]);
}

static void print_answer(const struct nvml_answer *answer, const void *bytes)
{
    fprintf(out, "answer ");
    print_hex(answer, sizeof(*answer));
    print_hex(bytes, answer->size);
    fprintf(out, "\n");
}

struct asked {
    const struct nvml_question *question;
    function *function;
    void *device, *other;
    unsigned arguments[3];
};

// Builds the arguments (device, other values, destination of the answer) and calls the function.
static int questions_call(const struct asked *asked, unsigned char *bytes)
{
    const struct nvml_question *question = asked->question;
    word list[8] = {0};
    unsigned used = 0;

    if (question->subject != SUBJECT_SYSTEM)
        list[used++] = (word)asked->device;
    if (question->subject == SUBJECT_OTHER)
        list[used++] = (word)asked->other;
    for (unsigned i = 0; i < 3; i++)
        if (question->counts[i])
            list[used++] = asked->arguments[i];
    if (question->shape == SHAPE_VERSIONED)
        memcpy(bytes, &question->version, sizeof(question->version));
    for (unsigned at = 0; at < question->bytes && used < 5; at += 4) {
        list[used++] = (word)(bytes + at);
        if (question->shape != SHAPE_WORDS)
            break;
    }
    if (question->shape == SHAPE_TEXT)
        list[used++] = question->bytes;
    return asked->function(list[0], list[1], list[2], list[3], list[4]);
}

static void questions_ask(const struct asked *asked)
{
    unsigned char bytes[4096] = {0}; // larger than any answer, in case a newer library writes more
    const struct nvml_question *question = asked->question;
    const unsigned *a = asked->arguments;
    struct nvml_answer answer = {.number = question->number,
                                 .arguments = a[0] | a[1] << 8 | a[2] << 16,
                                 .result = questions_call(asked, bytes)};

    if (answer.result == NVML_NOT_SUPPORTED || answer.result == NVML_FUNCTION_NOT_FOUND ||
        answer.result == NVML_INVALID_ARGUMENT)
        return;
    if (answer.result == NVML_OK)
        answer.size = question->shape == SHAPE_TEXT
                          ? (unsigned short)(strnlen((char *)bytes, question->bytes - 1u) + 1)
                          : question->bytes;
    print_answer(&answer, bytes);
}

static unsigned times(unsigned count)
{
    return count ? count : 1;
}

static void ask_all(struct asked *asked)
{
    const unsigned char *counts = asked->question->counts;
    unsigned *a = asked->arguments, first = a[0];

    for (a[2] = 0; a[2] < times(counts[2]); a[2]++)
        for (a[1] = 0; a[1] < times(counts[1]); a[1]++) {
            if (!counts[0]) {
                questions_ask(asked);
                continue;
            }
            for (a[0] = 0; a[0] < counts[0]; a[0]++)
                questions_ask(asked);
        }
    a[0] = first;
}

static void questions_tell(enum subject subject, void *device, void *other, unsigned other_number)
{
    for (unsigned i = 0; i < QUESTIONS; i++) {
        struct asked asked = {.question = &questions[i],
                              .function = found[i],
                              .device = device,
                              .other = other,
                              .arguments = {other_number}};
        if (found[i] && questions[i].subject == subject)
            ask_all(&asked);
    }
}

// Asks for one field at a time. In a list, the library skips all fields after an unsupported one.
static void tell_fields(void *device)
{
    for (unsigned i = 0; field_values && i < sizeof(fields) / sizeof(fields[0]); i++)
        for (unsigned scope = 0; scope < fields[i].scopes; scope++) {
            struct nvml_field field = {.field = fields[i].field, .scope = scope};
            const struct nvml_answer answer = {.number = (unsigned short)(NVML_FIELD_NUMBERS +
                                                                          field.field),
                                               .size = sizeof(field),
                                               .arguments = scope};
            if (field_values((word)device, 1, (word)&field, 0, 0) == NVML_OK &&
                field.result == NVML_OK)
                print_answer(&answer, &field);
        }
}

void questions_ask_system(struct questions_text *text)
{
    free(text->words);
    text->words = NULL;
    out = open_memstream(&text->words, &text->size);
    if (!out)
        return;
    questions_tell(SUBJECT_SYSTEM, NULL, NULL, 0);
    fclose(out);
}

void questions_ask_device(struct questions_text *text, void *device,
                          const struct questions_other *others, unsigned other_count)
{
    free(text->words);
    text->words = NULL;
    out = open_memstream(&text->words, &text->size);
    if (!out)
        return;
    questions_tell(SUBJECT_DEVICE, device, NULL, 0);
    for (unsigned i = 0; i < other_count; i++)
        questions_tell(SUBJECT_OTHER, device, others[i].device, others[i].number);
    tell_fields(device);
    fclose(out);
}
