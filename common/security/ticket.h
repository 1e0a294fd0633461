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
// The client's half needs no library for tickets, as it is in every CUDA program. Issuing and
// checking need libjwt and are in ticket_token.c; programs that call them link -ljwt -ljansson.
#ifndef RGPU_COMMON_TICKET_H
#define RGPU_COMMON_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/security/sha256.h"
#include "control_messages.h"

#define TICKET_TOKEN_MAX 16384      // longest token that is read
#define TICKET_BUNDLE_MAX (1 << 20) // longest ticket file
#define TICKET_NAME_MAX 128         // box, lease, ticket and job names, with the final zero
#define TICKET_GPUS_MAX 64          // GPUs of one box in one lease

// ---- the client's half ----

// One line of a bundle. The strings belong to the bundle.
struct ticket_entry {
    const char *box;
    const char *addresses; // host:port[,host:port...]
    const char *token;     // whole token, secret
    size_t public_size;    // the first public_size characters of token are header.payload
};

struct ticket_bundle {
    char *text;
    struct ticket_entry *entries;
    size_t count;
};

// Finds the caller's ticket: RGPU_TICKET (the bundle itself) before RGPU_TICKET_FILE (a regular
// file of the caller or of root that no other user can read).
// -ENOENT: neither is set. -EPERM: the file is not private. -EBADMSG: not a bundle. Else -errno.
int ticket_bundle_load(struct ticket_bundle *bundle) __attribute__((warn_unused_result));
int ticket_bundle_load_file(const char *path, struct ticket_bundle *bundle)
    __attribute__((warn_unused_result));
int ticket_bundle_parse(const char *text, size_t size, struct ticket_bundle *bundle)
    __attribute__((warn_unused_result));
// Finds the ticket for all GPUs of the job, if the caller's own is for a part of them:
// RGPU_JOB_TICKET_FILE before the above.
int ticket_bundle_load_of_job(struct ticket_bundle *bundle) __attribute__((warn_unused_result));
void ticket_bundle_free(struct ticket_bundle *bundle);

// The signature of a whole token, as the client knows it. -EBADMSG: not a token.
int ticket_secret(const char *token, uint8_t secret[SHA256_SIZE])
    __attribute__((warn_unused_result));

// Returns the lease that an entry's token names; the signature is not checked. -EBADMSG: it names
// none.
int ticket_lease(const struct ticket_entry *entry, char lease[TICKET_NAME_MAX])
    __attribute__((warn_unused_result));

// Returns true if an entry's token, likewise unchecked, names the GPU of that UUID.
bool ticket_names_gpu(const struct ticket_entry *entry, const uint8_t uuid[16]);

// ---- keys ----

#define TICKET_KEY_ID_MAX 33
#define TICKET_KEYS_MAX 8

struct ticket_key {
    char id[TICKET_KEY_ID_MAX]; // the token's `kid`; a box's key has the id of its cluster key
    uint8_t secret[SHA256_SIZE];
    int64_t until; // tokens signed with it are accepted before this time; 0: no limit
};

// Key 0 signs, all of them verify: rotation puts a new key in front and gives the old one an end.
struct ticket_keyring {
    struct ticket_key keys[TICKET_KEYS_MAX];
    size_t count;
};

// A key file has one key per line, `ID HEX64 [UNTIL]` (UNTIL in seconds since 1970), `#` starts a
// comment. It must be a regular file of the caller or of root, readable by no other user (-EPERM).
int ticket_keyring_load(const char *path, struct ticket_keyring *ring)
    __attribute__((warn_unused_result));
int ticket_keyring_parse(const char *text, size_t size, struct ticket_keyring *ring)
    __attribute__((warn_unused_result));
// One line per key, in the form of a key file. Returns the length, or -ENOSPC.
int ticket_keyring_print(const struct ticket_keyring *ring, char *text, size_t size)
    __attribute__((warn_unused_result));
// The keys of one box, from those of the cluster.
void ticket_keyring_derive(const struct ticket_keyring *cluster, const char *box,
                           struct ticket_keyring *ring);
// A fresh random key.
int ticket_key_generate(const char *id, struct ticket_key *key) __attribute__((warn_unused_result));

// Reads a whole private file (regular, owner caller or root, mode & 077 == 0) of at most `limit`
// bytes; the caller frees *text, which ends in a zero.
int ticket_read_private(const char *path, size_t limit, char **text, size_t *size)
    __attribute__((warn_unused_result));

// ---- the broker's and the box's half (ticket_token.c) ----

enum ticket_mode { TICKET_EXCLUSIVE, TICKET_SHARED };

struct ticket_gpu {
    char uuid[TICKET_NAME_MAX];
    uint32_t index;   // the box's own number for the GPU
    uint32_t ordinal; // its place in the lease, over all boxes, from 0
    enum ticket_mode mode;
    uint64_t memory;  // budget in bytes over all processes of the lease; 0: the whole GPU
    uint32_t compute; // percent of its multiprocessors for each of them; 0: all
};

// The part of a lease that one box sees. Times are seconds since 1970.
struct ticket {
    char id[TICKET_NAME_MAX];
    char lease[TICKET_NAME_MAX];
    char job[TICKET_NAME_MAX]; // free text for people, may be empty
    char box[TICKET_NAME_MAX];
    char addresses[512];
    uid_t owner;
    enum control_protection protection; // the least that its sessions get
    int64_t issued, expires;
    int64_t epoch; // of the broker's history (docs/admin/pool.md); 0: issued before there were any
    size_t gpu_count;
    struct ticket_gpu gpus[TICKET_GPUS_MAX];
};

// Signs `ticket` with key 0 of the box's ring; the caller frees *token.
int ticket_issue(const struct ticket_keyring *box_ring, const struct ticket *ticket, char **token)
    __attribute__((warn_unused_result));

// Reads a token, or its header.payload, without checking anything but its form.
int ticket_parse(const char *token, struct ticket *ticket) __attribute__((warn_unused_result));

// The circumstances under which a box looks at a ticket.
struct ticket_check {
    const struct ticket_keyring *ring; // the box's own keys
    const char *box;                   // its name
    int64_t now;                       // seconds since 1970
    int64_t skew;                      // tolerated difference of clocks, seconds
    int64_t max_lifetime;              // from issue to expiry, seconds
};

// Checks a whole token. -EBADMSG: not a ticket; -ENOKEY: signed with a key that is not (or no
// longer) in the ring; -EKEYREJECTED: the signature is wrong; -EXDEV: of another box;
// -EKEYEXPIRED: over; -EAGAIN: issued in the future, one of the two clocks is wrong; -EOVERFLOW:
// valid for longer than is accepted.
int ticket_verify(const struct ticket_check *check, const char *token, struct ticket *ticket)
    __attribute__((warn_unused_result));

// The same in two steps for header.payload (`size` characters), as a box receives it. The first
// step computes the signature that belongs to it, and parses it; the contents must not be trusted
// before the client has proved that it knows the signature. The second step checks that such a
// ticket is valid for this box at this time.
int ticket_recompute(const struct ticket_check *check, const char *public_part, size_t size,
                     uint8_t secret[SHA256_SIZE], struct ticket *ticket)
    __attribute__((warn_unused_result));
int ticket_check_use(const struct ticket_check *check, const struct ticket *ticket)
    __attribute__((warn_unused_result));

// Returns the meaning of a refusal by the functions above, for logs and for the client's user.
const char *ticket_error(int error);

#endif
