// SPDX-License-Identifier: BSD-3-Clause
// A box takes a ticket only as it was issued, for itself, in its time, from who knows the secret.
#include "tests/ticket/sample.h"
#include "tests/tls_pair.h"

#include <errno.h>
#include <nettle/base64.h>

static struct ticket_keyring cluster, box_ring;
static struct ticket_check check = {
    .ring = &box_ring, .box = "box1", .now = SAMPLE_NOW + 10, .skew = 30, .max_lifetime = 3600};

static struct ticket presented;
static int refusal;

static int find(void *argument, const void *identity, size_t size, uint8_t key[TLS_SECRET_BYTES])
{
    refusal = ticket_recompute(&check, identity, size, key, &presented);
    return refusal;
}

// Runs a client and its box; `public_part` may differ from the token's.
static int present(const char *token, const char *public_part)
{
    struct tls_secret secret = {.identity = public_part, .identity_size = strlen(public_part)};
    struct tls_pair pair;

    refusal = 0;
    if (ticket_secret(token, secret.key) || !secret.identity_size)
        return -EBADMSG;
    tls_pair_open(&pair, &secret, find, NULL);
    tls_pair_handshake(&pair);
    bool stands = pair.errors[0] == 0 && pair.errors[1] == 0;
    tls_pair_close(&pair);
    return refusal ? refusal : stands ? ticket_check_use(&check, &presented) : -EKEYREJECTED;
}

static char *public_part_of(const char *token)
{
    return strndup(token, (size_t)(strrchr(token, '.') - token));
}

static int verify(const char *token)
{
    char *public_part = strrchr(token, '.') ? public_part_of(token) : strdup(token);
    int error = present(token, public_part);

    free(public_part);
    return error;
}

static char *base64url(const char *text)
{
    char *out = calloc(1, BASE64_ENCODE_RAW_LENGTH(strlen(text)) + 1);

    base64_encode_raw(out, strlen(text), (const uint8_t *)text);
    for (char *c = out; *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    out[strcspn(out, "=")] = '\0';
    return out;
}

static void test_round_trip(const char *token)
{
    const struct ticket want = sample_ticket("box1"), *got = &presented;

    is_int(verify(token), 0, "a ticket as issued is accepted");
    is_str(got->lease, want.lease, "lease comes through");
    is_str(got->job, want.job, "job comes through");
    is_str(got->addresses, want.addresses, "addresses come through");
    is_int(got->owner, want.owner, "owner comes through");
    is_int(got->gpu_count, 2, "GPUs come through");
    is_str(got->gpus[1].uuid, "GPU-bbbb", "UUID comes through");
    is_int(got->gpus[1].mode, TICKET_SHARED, "mode comes through");
    is_int(got->gpus[1].memory, 10ll << 30, "budget comes through");
    is_int(got->gpus[0].index, 3, "index comes through");
    is_int(got->protection, CONTROL_PROTECTION_AUTHENTICATE, "protection comes through");
    is_str(got->id, "t-1", "and its number");
}

static void test_lease_of_a_token(const char *token)
{
    const struct ticket_entry entry = {.token = token,
                                       .public_size = (size_t)(strrchr(token, '.') - token)};
    const struct ticket_entry other = {.token = "e30.eyJzIjoiTCJ9.z",
                                       .public_size = 16}; // {"s":"L"}
    char lease[TICKET_NAME_MAX] = "";

    is_int(ticket_lease(&entry, lease), 0, "without the library a client finds the lease");
    is_str(lease, sample_ticket("box1").lease, "which is that of the ticket");
    is_int(ticket_lease(&other, lease), -EBADMSG, "and none where there is none");
}

static void test_alterations(const char *token)
{
    size_t size = strlen(token), accepted = 0;
    char *altered = strdup(token);

    for (size_t i = 0; i + 1 < size; i++) {
        altered[i] = token[i] == 'A' ? 'B' : 'A';
        if (altered[i] != token[i] && verify(altered) == 0)
            accepted++;
        altered[i] = token[i];
    }
    is_int(accepted, 0, "no token with one changed character is accepted");
    accepted = 0;
    for (size_t length = 0; length < size; length++) {
        char *cut = strndup(token, length);
        accepted += verify(cut) == 0;
        free(cut);
    }
    is_int(accepted, 0, "no shortened token is accepted");
    free(altered);
}

static void test_proof(const char *token)
{
    struct ticket_keyring other = sample_ring("k1");
    struct ticket ticket = sample_ticket("box1");
    char *public_part = public_part_of(token), *forged = sample_token(&other, &ticket);

    is_int(present(token, public_part), 0, "who knows the signature is believed");
    is_int(present(forged, public_part), -EKEYREJECTED, "who has another signature is not");
    is_int(verify(forged), -EKEYREJECTED, "a ticket signed with a made-up key is refused");
    is_int(present(token, ""), -EBADMSG, "an empty ticket is not a ticket");
    is_int(present(token, "a.b"), -EBADMSG, "nor is garbage");
    is_int(present(token, token), -EBADMSG, "the signature does not belong on the wire");
    free(public_part);
    free(forged);
}

static void test_algorithms(const char *token)
{
    static const char *const headers[] = {
        "{\"alg\":\"none\",\"kid\":\"k1\"}",
        "{\"alg\":\"HS384\",\"kid\":\"k1\"}",
        "{\"alg\":\"RS256\",\"kid\":\"k1\"}",
        "{\"alg\":\"HS256\",\"kid\":\"k2\"}",
        "{\"alg\":\"HS256\"}",
    };
    const char *rest = strchr(token, '.');

    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        char *header = base64url(headers[i]), *changed, *public_part;
        if (asprintf(&changed, "%s%s", header, rest) < 0)
            bail("no memory");
        public_part = public_part_of(changed);
        ok(verify(changed) < 0 && present(token, public_part) < 0, "refused: %s", headers[i]);
        strrchr(changed, '.')[1] = '\0';
        ok(verify(changed) < 0, "refused without signature: %s", headers[i]);
        free(header);
        free(changed);
        free(public_part);
    }
}

static void test_circumstances(const char *token)
{
    struct ticket for_other = sample_ticket("box2");
    char *other = sample_token(&cluster, &for_other), *crossed;
    struct ticket box2_named = sample_ticket("box2");

    is_int(verify(other), -EKEYREJECTED, "another box's ticket is refused by its signature");
    if (ticket_issue(&box_ring, &box2_named, NULL, &crossed))
        bail("cannot issue");
    is_int(verify(crossed), -EXDEV, "and by its name, whoever signed it");
    check.now = SAMPLE_NOW + 3600 + 29;
    is_int(verify(token), 0, "a clock ahead within the tolerance does no harm");
    check.now = SAMPLE_NOW + 3600 + 31;
    is_int(verify(token), -EKEYEXPIRED, "an expired ticket is refused");
    check.now = SAMPLE_NOW - 29;
    is_int(verify(token), 0, "a clock behind within the tolerance does no harm");
    check.now = SAMPLE_NOW - 31;
    is_int(verify(token), -EAGAIN, "a ticket from the future is refused");
    check.now = SAMPLE_NOW + 10;
    check.max_lifetime = 3599;
    is_int(verify(token), -EOVERFLOW, "one that is valid for longer than allowed is refused");
    check.max_lifetime = 3600;
    check.now = SAMPLE_NOW + 10;
    free(other);
    free(crossed);
}

static void test_wrong_payloads(void)
{
    static const char *const why[] = {"no lease", "no GPU", "a share without budget"};

    for (int i = 0; i < 3; i++) {
        struct ticket ticket = sample_ticket("box1");
        char *token;
        if (i == 0)
            ticket.lease[0] = '\0';
        else if (i == 1)
            ticket.gpu_count = 0;
        else
            ticket.gpus[1].memory = 0;
        token = sample_token(&cluster, &ticket);
        is_int(verify(token), -EBADMSG, "a signed ticket with %s is refused", why[i]);
        free(token);
    }
}

static void test_rotation(const char *old_token)
{
    struct ticket_keyring rotated = sample_ring("k2");
    struct ticket ticket = sample_ticket("box1");
    char *new_token;

    rotated.keys[1] = cluster.keys[0];
    rotated.keys[1].until = SAMPLE_NOW + 100;
    rotated.count = 2;
    new_token = sample_token(&rotated, &ticket);
    is_int(verify(new_token), -ENOKEY, "before it has the new key, a box refuses its tickets");
    ticket_keyring_derive(&rotated, "box1", &box_ring);
    is_int(verify(new_token), 0, "after the rotation new tickets are accepted");
    is_int(verify(old_token), 0, "and old ones, during the overlap");
    check.now = SAMPLE_NOW + 100;
    is_int(verify(old_token), -ENOKEY, "but not after it");
    is_int(verify(new_token), 0, "when new ones still are");
    free(new_token);
}

int main(void)
{
    struct ticket ticket = sample_ticket("box1");
    char *token;

    cluster = sample_ring("k1");
    ticket_keyring_derive(&cluster, "box1", &box_ring);
    token = sample_token(&cluster, &ticket);
    test_round_trip(token);
    test_lease_of_a_token(token);
    test_alterations(token);
    test_proof(token);
    test_algorithms(token);
    test_circumstances(token);
    test_wrong_payloads();
    test_rotation(token);
    free(token);
    return done();
}
