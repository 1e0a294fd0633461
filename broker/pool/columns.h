// SPDX-License-Identifier: BSD-3-Clause
// Database columns of boxes, GPUs, leases and holds. These tables generate the SQL, its parameters,
// the reading of rows and the output of the API. A new column also needs a step in migrations.h.
#ifndef RGPU_BROKER_COLUMNS_H
#define RGPU_BROKER_COLUMNS_H

#include <jansson.h>

#include "broker/pool/outcome.h"
#include "broker/pool/pool.h"

enum column_kind {
    COLUMN_NUMBER, // an integer of any width
    COLUMN_FLAG,
    COLUMN_NAME,    // an enumeration, stored as one of `names`
    COLUMN_CHARS,   // char[]
    COLUMN_TEXT,    // owned char *; NULL stands for ""
    COLUMN_MODEL,   // model of a GPU, a string interned by the pool
    COLUMN_BOX,     // a box of the pool, stored by name
    COLUMN_GPU,     // a GPU of the pool, stored by UUID
    COLUMN_REQUEST, // stored as JSON
};

// Uses of a column, as bits.
enum column_role {
    COLUMN_CHANGES = 1,     // leases: written with every change of the lease
    COLUMN_SAID = 2,        // boxes and GPUs: reported by the box at registration
    COLUMN_SHOWN = 4,       // shown by the API
    COLUMN_SHOWN_ENDED = 8, // shown by the API once the lease has ended
    COLUMN_OPTIONAL = 16,   // shown only if the value is not empty
    COLUMN_ASKED = 32,      // leases: text that an acquire may set, under this name
    COLUMN_OR_NULL = 64,    // an empty value is stored as NULL
    COLUMN_STEERED = 128,   // boxes and GPUs: written when an administrator drains or undrains
};

struct column {
    const char *name;
    enum column_kind kind;
    unsigned roles;
    size_t offset, size;
    const char *const *names;
};

// Each table ends with a row without a name.
extern const struct column box_columns[], gpu_columns[], lease_columns[], hold_columns[];

// A value as it is in the database: NULL, text, or (if `text` is NULL) number.
struct column_value {
    bool is_null;
    const char *text;
    int64_t number;
    char *owned; // memory of `text` that the caller must free, or NULL
};
struct column_value column_get(const struct column *column, const void *thing);
// Sets the member of `thing` to a value from the database. A box or GPU that the pool does not have
// becomes NULL. OUTCOME_DATABASE_DAMAGED: the value is invalid; OUTCOME_NO_MEMORY.
enum outcome column_set(const struct column *column, struct pool *pool,
                        const struct column_value *value, void *thing)
    __attribute__((warn_unused_result));
// Returns the value for the API, or NULL if it is empty and has role COLUMN_OPTIONAL.
json_t *column_to_json(const struct column *column, const struct column_value *value);

// Sets the members with role COLUMN_ASKED from an object. Members that the object lacks keep their
// values. Returns false if a value is not a string or too long.
bool columns_ask(const struct column *columns, const json_t *object, void *thing);
// Adds the columns with role `role` to `object`.
void columns_show(const struct column *columns, unsigned role, const void *thing, json_t *object);
// Copies the columns with role `role`, except owned texts and pointers into the pool.
void columns_copy(const struct column *columns, unsigned role, const void *from, void *to);

#endif
