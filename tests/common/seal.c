// SPDX-License-Identifier: BSD-3-Clause
// A sealed answer opens with the key and the request that it was made for, and not at all
// otherwise.
#include <errno.h>

#include "common/security/seal.h"
#include "tests/tap.h"

int main(void)
{
    uint8_t key[SHA256_SIZE] = {1, 2, 3}, other[SHA256_SIZE] = {1, 2, 4};
    char *sealed, *again, *text = NULL;
    int opened = 0;

    is_int(seal_text(key, "n1", "the ticket\n", &sealed), 0, "a text is sealed");
    ok(!strstr(sealed, "ticket") && strlen(sealed) == 2 * (11 + 16), "and cannot be read");
    is_int(seal_open(key, "n1", sealed, &text), 0, "it is opened");
    is_str(text, "the ticket\n", "and is the same");
    is_int(seal_open(other, "n1", sealed, &text), -EBADMSG, "not with another key");
    is_int(seal_open(key, "n2", sealed, &text), -EBADMSG, "not for another request");
    is_int(seal_text(key, "n2", "the ticket\n", &again), 0, "the same text, another request");
    ok(strcmp(sealed, again), "looks different");
    for (size_t i = 0; sealed[i]; i++) {
        char was = sealed[i];
        sealed[i] = was == '0' ? '1' : '0';
        opened += seal_open(key, "n1", sealed, &text) == 0;
        sealed[i] = was;
    }
    is_int(opened, 0, "no altered one is opened");
    is_int(seal_open(key, "n1", "", &text), -EBADMSG, "nor an empty one");
    is_int(seal_open(key, "n1", "xyz", &text), -EBADMSG, "nor garbage");
    free(sealed);
    free(again);
    free(text);
    return done();
}
