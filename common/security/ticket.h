// SPDX-License-Identifier: BSD-3-Clause
// Tickets: the signed form of a lease, which a client presents to boxes.
//
// A ticket is one standard JSON Web Token (HS256) per box, signed with that box's key. A job holds
// a bundle, one line per box (`;` may stand for a line end, for environment variables):
//
//     BOX ADDRESS[,ADDRESS...] TOKEN
//
// so a client finds the boxes without parsing JSON. The signature, the token's third part, is the
// secret: client and box open TLS with it as pre-shared key (common/security/tls.h), named by
// `header.payload`. So neither side can be impersonated without the token or the box's key.
//
// The client's functions need no library, because they run in every CUDA program. The functions
// that issue and verify are in ticket_token.c and need libjwt: programs link -ljwt -ljansson.
// Functions return 0 or -errno unless stated otherwise. They keep no state, so any thread may call.
#ifndef RGPU_COMMON_TICKET_H
#define RGPU_COMMON_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/security/sha256.h"
#include "control_messages.h"

#define TICKET_TOKEN_MAX 16384      // characters of a token
#define TICKET_BUNDLE_MAX (1 << 20) // bytes of a ticket file
#define TICKET_NAME_MAX 128         // box, lease, ticket and job names, with the final zero
#define TICKET_GPUS_MAX 64          // GPUs of one box in one lease

// ---- functions of the client ----

// One line of a bundle. The strings belong to the bundle.
struct ticket_entry {
    const char *box;
    const char *addresses; // host:port[,host:port...]
    const char *token;     // the whole token; its signature is secret
    size_t public_size;    // length of header.payload, with which token begins
};

struct ticket_bundle {
    char *text;
    struct ticket_entry *entries;
    size_t count;
};

// Reads the caller's ticket from RGPU_TICKET (the bundle itself), else from the file
// RGPU_TICKET_FILE. The file must be regular, belong to the caller or root, and be readable by no
// other user. Returns -ENOENT if neither is set, -EPERM if the file is not private, -EBADMSG if the
// text is no bundle. The caller frees the bundle.
int ticket_bundle_load(struct ticket_bundle *bundle) __attribute__((warn_unused_result));
int ticket_bundle_load_file(const char *path, struct ticket_bundle *bundle)
    __attribute__((warn_unused_result));
int ticket_bundle_parse(const char *text, size_t size, struct ticket_bundle *bundle)
    __attribute__((warn_unused_result));
// Reads the ticket for all GPUs of the job from RGPU_JOB_TICKET_FILE, which is set if the caller's
// own ticket is for a part of them; else as ticket_bundle_load.
int ticket_bundle_load_of_job(struct ticket_bundle *bundle) __attribute__((warn_unused_result));
void ticket_bundle_free(struct ticket_bundle *bundle);

// Decodes the signature of a whole token into SECRET. Returns -EBADMSG if TOKEN is no token.
int ticket_secret(const char *token, uint8_t secret[SHA256_SIZE])
    __attribute__((warn_unused_result));

// Stores the lease that an entry's token names, without checking the signature. Returns -EBADMSG if
// it names none.
int ticket_lease(const struct ticket_entry *entry, char lease[TICKET_NAME_MAX])
    __attribute__((warn_unused_result));

// Returns true if an entry's token names the GPU with that UUID. The signature is not checked.
bool ticket_names_gpu(const struct ticket_entry *entry, const uint8_t uuid[16]);

// ---- keys ----

#define TICKET_KEY_ID_MAX 33
#define TICKET_KEYS_MAX 8

struct ticket_key {
    char id[TICKET_KEY_ID_MAX]; // `kid` of tokens; a box's key has the id of its cluster key
    uint8_t secret[SHA256_SIZE];
    int64_t until; // seconds since 1970 when the key stops verifying tokens; 0: never
};

// Key 0 signs; every key verifies. A rotation inserts a new key 0 and sets `until` of the old one.
struct ticket_keyring {
    struct ticket_key keys[TICKET_KEYS_MAX];
    size_t count;
};

// Reads a key file: one key per line, `ID HEX64 [UNTIL]`, with UNTIL in seconds since 1970; `#`
// starts a comment. The file must be regular, belong to the caller or root, and be readable by no
// other user (else -EPERM).
int ticket_keyring_load(const char *path, struct ticket_keyring *ring)
    __attribute__((warn_unused_result));
int ticket_keyring_parse(const char *text, size_t size, struct ticket_keyring *ring)
    __attribute__((warn_unused_result));
// Writes the keys to TEXT (SIZE bytes) in the form of a key file. Returns the length or -ENOSPC.
int ticket_keyring_print(const struct ticket_keyring *ring, char *text, size_t size)
    __attribute__((warn_unused_result));
// Derives the keys of the box named BOX from those of the cluster.
void ticket_keyring_derive(const struct ticket_keyring *cluster, const char *box,
                           struct ticket_keyring *ring);
// Generates a random key named ID.
int ticket_key_generate(const char *id, struct ticket_key *key) __attribute__((warn_unused_result));

// Reads a private file (regular, owner caller or root, mode & 077 == 0) of at most LIMIT bytes. The
// caller frees *TEXT, to which a zero byte is appended.
int ticket_read_private(const char *path, size_t limit, char **text, size_t *size)
    __attribute__((warn_unused_result));

// ---- functions of the broker and the box (ticket_token.c) ----

enum ticket_mode { TICKET_EXCLUSIVE, TICKET_SHARED };

struct ticket_gpu {
    char uuid[TICKET_NAME_MAX];
    uint32_t index;   // number of the GPU in its box
    uint32_t ordinal; // number of the GPU in the lease, over all boxes, from 0
    enum ticket_mode mode;
    uint64_t memory;  // budget in bytes for all processes of the lease together; 0: the whole GPU
    uint32_t compute; // percent of the multiprocessors for each process; 0: all
};

// The part of a lease that one box sees. Times are seconds since 1970.
struct ticket {
    char id[TICKET_NAME_MAX];
    char lease[TICKET_NAME_MAX];
    char job[TICKET_NAME_MAX]; // free text for people, may be empty
    char box[TICKET_NAME_MAX];
    char addresses[512];
    uid_t owner;
    enum control_protection protection; // minimum for its sessions
    int64_t issued, expires;
    int64_t epoch; // of the broker's history (docs/admin/pool.md); 0: from a broker without epochs
    size_t gpu_count;
    struct ticket_gpu gpus[TICKET_GPUS_MAX];
};

// Signs TICKET with key 0 of BOX_RING. The caller frees *TOKEN.
int ticket_issue(const struct ticket_keyring *box_ring, const struct ticket *ticket, char **token)
    __attribute__((warn_unused_result));

// Parses a token, or its header.payload, and verifies only the form.
int ticket_parse(const char *token, struct ticket *ticket) __attribute__((warn_unused_result));

// The values of a box against which it verifies a ticket.
struct ticket_check {
    const struct ticket_keyring *ring; // the box's own keys
    const char *box;                   // its name
    int64_t now;                       // seconds since 1970
    int64_t skew;                      // tolerated difference of clocks in seconds
    int64_t max_lifetime;              // seconds from issue to expiry
};

// Verifies a whole token and parses it. Errors: -EBADMSG: it is no ticket; -ENOKEY: its key is not,
// or no longer, in the ring; -EKEYREJECTED: the signature is wrong; -EXDEV: it is for another box;
// -EKEYEXPIRED: it has expired; -EAGAIN: it was issued in the future, so one of the two clocks is
// wrong; -EOVERFLOW: it is valid for longer than max_lifetime.
int ticket_verify(const struct ticket_check *check, const char *token, struct ticket *ticket)
    __attribute__((warn_unused_result));

// Verify header.payload (SIZE characters), which a box receives instead of the token, in two steps.
// ticket_recompute() computes its signature into SECRET and parses it. The caller must not trust
// the contents before the client has proved that it knows the signature. ticket_check_use() then
// checks that the ticket is valid for this box at this time. Errors are those of ticket_verify().
int ticket_recompute(const struct ticket_check *check, const char *public_part, size_t size,
                     uint8_t secret[SHA256_SIZE], struct ticket *ticket)
    __attribute__((warn_unused_result));
int ticket_check_use(const struct ticket_check *check, const struct ticket *ticket)
    __attribute__((warn_unused_result));

// Returns the meaning of ERROR from the functions above, for logs and for the client's user.
const char *ticket_error(int error);

#endif
