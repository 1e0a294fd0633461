// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the short texts that people and other programs write: addresses, sizes, durations,
// and a secret that claims to be sealed for us.
#include <stdlib.h>
#include <string.h>

#include "common/net/endpoint.h"
#include "common/security/seal.h"
#include "common/base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_endpoint(const char *text)
{
    struct endpoint endpoint, again, list[4];
    char printed[ENDPOINT_TEXT_MAX];

    if (endpoint_parse(text, 7300, &endpoint) == 0) {
        endpoint_format(&endpoint, printed);
        if (endpoint_parse(printed, 7300, &again) || again.port != endpoint.port ||
            again.is_unix != endpoint.is_unix || strcmp(again.host, endpoint.host))
            abort();
    }
    if (endpoint_parse_list(text, 7300, list, 4) > 4)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t secret[SHA256_SIZE] = {1};
    char *text = malloc(size + 1), *opened = NULL;
    uint64_t number;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    try_endpoint(text);
    if (units_parse_size(text, &number) == 0 && !*text)
        abort();
    if (units_parse_duration(text, &number) == 0 && !*text)
        abort();
    // The fuzzer does not know the secret, so a text that opens is a fault.
    if (seal_open(secret, "0123456789abcdef0123456789abcdef", text, &opened) == 0)
        abort();
    free(text);
    return 0;
}
