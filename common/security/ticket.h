// SPDX-License-Identifier: BSD-3-Clause
// Tickets: the signed form of a lease, which a client presents to boxes.
//
// A ticket for a box is a JSON Web Token (HS256), signed with that box's key. A job has a bundle,
// with a line for each box (in environment variables `;` may replace the line end):
//
//     BOX ADDRESS[,ADDRESS...] TOKEN
//
// A client can therefore find the boxes without parsing JSON. The signature, which is the third
// part of the token, is secret: client and box use it as pre-shared key of TLS (tls.h), with
// `header.payload` as its identity. No one can impersonate one of them without the token or the
// box's key.
//
// The client's functions need no libraries, because they run in every CUDA program. The functions
// that issue and verify tokens are in ticket_token.c and ticket_seal.c: link with -ljwt -ljansson.
// Functions return 0 or -errno unless stated otherwise, and are thread-safe.
#ifndef RGPU_COMMON_TICKET_H
#define RGPU_COMMON_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/security/sha256.h"
#include "control_messages.h"

#define TICKET_TOKEN_MAX 16384      // maximum characters of a token
#define TICKET_BUNDLE_MAX (1 << 20) // maximum bytes of a ticket file
#define TICKET_NAME_MAX 128         // bytes of names of boxes, leases, tickets and jobs, with NUL
#define TICKET_GPUS_MAX 64          // maximum GPUs of one box in one lease

// ---- client ----

// One line of a bundle. The strings point into the bundle.
struct ticket_entry {
    const char *box;
    const char *addresses; // host:port[,host:port...]
    const char *token;     // complete token, including the secret signature
    size_t public_size;    // length of `header.payload` at the start of the token
};

struct ticket_bundle {
    char *text;
    struct ticket_entry *entries;
    size_t count;
};

// Reads the caller's ticket: RGPU_TICKET (the bundle itself), else the file RGPU_TICKET_FILE. The
// file must be regular, owned by the caller or root, and not readable for other users. -ENOENT:
// neither variable is set; -EPERM: the file is not private; -EBADMSG: the text is not a bundle. The
// caller calls ticket_bundle_free().
int ticket_bundle_load(struct ticket_bundle *bundle) __attribute__((warn_unused_result));
int ticket_bundle_load_file(const char *path, struct ticket_bundle *bundle)
    __attribute__((warn_unused_result));
int ticket_bundle_parse(const char *text, size_t size, struct ticket_bundle *bundle)
    __attribute__((warn_unused_result));
// Reads the ticket for all GPUs of the job: the file RGPU_JOB_TICKET_FILE, which is set if the
// caller's own ticket is for some of them; else as ticket_bundle_load().
int ticket_bundle_load_of_job(struct ticket_bundle *bundle) __attribute__((warn_unused_result));
void ticket_bundle_free(struct ticket_bundle *bundle);

// Decodes the signature of a token. Returns -EBADMSG if TOKEN is not a token.
int ticket_secret(const char *token, uint8_t secret[SHA256_SIZE])
    __attribute__((warn_unused_result));

// Returns the lease that a token names, without verifying the signature. -EBADMSG: it names none.
int ticket_lease(const struct ticket_entry *entry, char lease[TICKET_NAME_MAX])
    __attribute__((warn_unused_result));

// Returns true if a token names the GPU, without verifying the signature.
bool ticket_names_gpu(const struct ticket_entry *entry, const uint8_t uuid[16]);

// ---- keys ----

#define TICKET_KEY_ID_MAX 33
#define TICKET_KEYS_MAX 256

struct ticket_key {
    // member `kid` of tokens; the key of a box has the id of the cluster key
    char id[TICKET_KEY_ID_MAX];
    uint8_t secret[SHA256_SIZE];
    int64_t until; // no longer verifies tokens after this time, seconds since 1970; 0: no limit
};

// Key 0 signs, all keys verify. A rotation inserts a new key 0 and sets `until` of the old one.
struct ticket_keyring {
    struct ticket_key keys[TICKET_KEYS_MAX];
    size_t count;
};

// Reads a key file. Each line is `ID HEX64 [UNTIL]`, with UNTIL in seconds since 1970; `#` begins a
// comment. The file must be regular, owned by the caller or root, and not readable for other users
// (else -EPERM).
int ticket_keyring_load(const char *path, struct ticket_keyring *ring)
    __attribute__((warn_unused_result));
// Returns what is wrong with a file for which ticket_keyring_load() returned ERROR.
const char *ticket_keyring_explain(int error);
int ticket_keyring_parse(const char *text, size_t size, struct ticket_keyring *ring)
    __attribute__((warn_unused_result));
// Writes the keys in the format of a key file to TEXT (SIZE bytes). Returns the length or -ENOSPC.
int ticket_keyring_print(const struct ticket_keyring *ring, char *text, size_t size)
    __attribute__((warn_unused_result));
// Derives the keys of a box from those of the cluster.
void ticket_keyring_derive(const struct ticket_keyring *cluster, const char *box,
                           struct ticket_keyring *ring);
// Generates a random key named ID.
int ticket_key_generate(const char *id, struct ticket_key *key) __attribute__((warn_unused_result));

// Reads a file that must be private as above, of at most LIMIT bytes. The caller frees *TEXT, which
// ends with a NUL.
int ticket_read_private(const char *path, size_t limit, char **text, size_t *size)
    __attribute__((warn_unused_result));

// ---- broker and box (ticket_token.c) ----

enum ticket_mode { TICKET_EXCLUSIVE, TICKET_SHARED };

struct ticket_gpu {
    char uuid[TICKET_NAME_MAX];
    uint32_t index;   // number of the GPU in its box
    uint32_t ordinal; // number of the GPU among all GPUs of the lease, from 0
    enum ticket_mode mode;
    uint64_t memory;  // bytes for all processes of the lease together; 0: the whole GPU
    uint32_t compute; // percent of the multiprocessors for each process; 0: no limit
};

// The part of a lease in one box. Times are seconds since 1970.
struct ticket {
    char id[TICKET_NAME_MAX];
    char lease[TICKET_NAME_MAX];
    char job[TICKET_NAME_MAX]; // free text for users, may be ""
    char box[TICKET_NAME_MAX];
    char addresses[512];
    uid_t owner;
    enum control_protection protection; // minimum protection of sessions
    int64_t issued, expires;
    // epoch of the broker's history (docs/admin/pool.md); 0: the broker has no epochs
    int64_t epoch;
    uint64_t bandwidth; // bytes per second over a box's network in each direction; 0: any
    size_t gpu_count;
    struct ticket_gpu gpus[TICKET_GPUS_MAX];
};

// The broker's seal of a ticket (ticket_seal.c) is a MAC over its payload, whose key boxes do not
// have. From a sealed ticket the broker restores a lease that its database has lost.
struct ticket_seal {
    const struct ticket_keyring *cluster;
    const char *terms; // JSON object with the rest of the lease, which boxes do not read
};

// Signs TICKET with key 0 of BOX_RING. SEAL may be NULL. The caller frees *TOKEN.
int ticket_issue(const struct ticket_keyring *box_ring, const struct ticket *ticket,
                 const struct ticket_seal *seal, char **token) __attribute__((warn_unused_result));

// Parses a sealed token or its header.payload, and verifies the seal. The caller frees *TERMS.
// -EBADMSG: it is not a ticket; -ENOKEY: its key is unknown or expired; -EKEYREJECTED: it has no
// seal, or a wrong one.
int ticket_unseal(const struct ticket_keyring *cluster, int64_t now, const char *token,
                  struct ticket *ticket, char **terms) __attribute__((warn_unused_result));

// Values of the box that verifies a ticket.
struct ticket_check {
    const struct ticket_keyring *ring; // keys of the box
    const char *box;                   // name of the box
    int64_t now;                       // seconds since 1970
    int64_t skew;                      // tolerated difference of clocks, seconds
    int64_t max_lifetime;              // maximum seconds from issue to expiry
};

// Verify header.payload (SIZE characters), which a box receives instead of the token, in two steps.
// ticket_recompute() parses it and computes its signature; the caller must not trust *TICKET until
// the client has proved that it knows this signature. -EBADMSG: it is not a ticket; -ENOKEY: its
// key is unknown or expired. ticket_check_use() then checks if the ticket is valid for this box
// now. -EXDEV: it is for another box; -EKEYEXPIRED: it has expired; -EAGAIN: it was issued in the
// future, so one of the clocks is wrong; -EOVERFLOW: its lifetime exceeds max_lifetime.
int ticket_recompute(const struct ticket_check *check, const char *public_part, size_t size,
                     uint8_t secret[SHA256_SIZE], struct ticket *ticket)
    __attribute__((warn_unused_result));
int ticket_check_use(const struct ticket_check *check, const struct ticket *ticket)
    __attribute__((warn_unused_result));

// Returns the meaning of an error of these functions, for logs and users.
const char *ticket_error(int error);

#endif
