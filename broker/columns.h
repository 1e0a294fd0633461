// SPDX-License-Identifier: BSD-3-Clause
// What is kept of boxes, GPUs, leases and what leases hold: a row for each column of the database.
// The SQL, what is bound to it, how rows are read, and what the API shows of them follow from these
// tables. A new column also needs a step in migrations.h.
#ifndef RGPU_BROKER_COLUMNS_H
#define RGPU_BROKER_COLUMNS_H

#include <jansson.h>

#include "broker/outcome.h"
#include "broker/pool.h"

enum column_kind {
    COLUMN_NUMBER, // an integer of any width
    COLUMN_FLAG,
    COLUMN_NAME,    // an enumeration, kept as one of `names`
    COLUMN_CHARS,   // char[]
    COLUMN_TEXT,    // char *, owned; NULL stands for an empty text
    COLUMN_MODEL,   // of a GPU, interned by the pool
    COLUMN_BOX,     // a box of the pool, kept by name
    COLUMN_GPU,     // a GPU of the pool, kept by UUID
    COLUMN_REQUEST, // kept as JSON
};

// What a column takes part in.
enum column_role {
    COLUMN_CHANGES = 1,     // leases: written again whenever the lease changes
    COLUMN_SAID = 2,        // boxes and GPUs: what the box says of itself when it registers
    COLUMN_SHOWN = 4,       // by the API
    COLUMN_SHOWN_ENDED = 8, // by the API once the lease has ended
    COLUMN_OPTIONAL = 16,   // shown where it is not empty
    COLUMN_ASKED = 32,      // leases: a text that who acquires one may give, by this name
    COLUMN_OR_NULL = 64,    // NULL in the database where it is empty
    COLUMN_STEERED = 128,   // boxes and GPUs: written when an administrator drains or undrains them
};

struct column {
    const char *name;
    enum column_kind kind;
    unsigned roles;
    size_t offset, size;
    const char *const *names;
};

// Each ends with a row without a name.
extern const struct column box_columns[], gpu_columns[], lease_columns[], hold_columns[];

// The value of a column as the database keeps it: a text where `text` is set, a number, or NULL.
struct column_value {
    bool is_null;
    const char *text;
    int64_t number;
    char *owned; // to be freed by the caller, who may have to
};
struct column_value column_get(const struct column *column, const void *thing);
// The opposite. OUTCOME_DATABASE_DAMAGED: the value makes no sense; OUTCOME_NO_MEMORY. A box or GPU
// that the pool does not know becomes NULL.
enum outcome column_set(const struct column *column, struct pool *pool,
                        const struct column_value *value, void *thing)
    __attribute__((warn_unused_result));
// As the API shows it; NULL: it does not, since it is empty.
json_t *column_to_json(const struct column *column, const struct column_value *value);

// Sets what has the role ASKED from the members of an object; what is not there stays. False: one is no
// text, or too long.
bool columns_ask(const struct column *columns, const json_t *object, void *thing);
// Adds to `object` what has the role.
void columns_show(const struct column *columns, unsigned role, const void *thing, json_t *object);
// Copies what has the role from one thing to another; not what is owned, nor places in the pool.
void columns_copy(const struct column *columns, unsigned role, const void *from, void *to);

#endif
