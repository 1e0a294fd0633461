// SPDX-License-Identifier: BSD-3-Clause
// The client says clearly why it gets no answer, and reads constraints strictly.
#include <errno.h>
#include <unistd.h>

#include "common/net/broker_client.h"
#include "tests/tap.h"

static int call(const char *address)
{
    struct broker_client_options options = {.address = address, .timeout_ms = 500};
    struct broker_client *client;
    int error = broker_client_open(&options, &client);

    if (!error)
        error = broker_client_call(client, "GET", "/healthz", NULL, NULL);
    diag("%s", broker_client_error(client));
    ok(error == 0 || *broker_client_error(client), "there is a sentence for it");
    broker_client_close(&client);
    return error;
}

static int constrain(const char *text)
{
    json_t *request = json_object();
    char bad[64] = "";
    int error = broker_request_constrain(request, text, bad, sizeof(bad));

    ok(!error == !*bad, "the bad word is named: %s", bad);
    json_decref(request);
    return error;
}

int main(void)
{
    unsetenv("RGPU_BROKER_KEY");
    is_int(call("unix:/nonexistent/socket"), -ECONNREFUSED, "no socket");
    is_int(call("127.0.0.1:1"), -ECONNREFUSED, "nobody at the port");
    setenv("RGPU_BROKER_KEY", "/nonexistent", 1);
    is_int(call("127.0.0.1:1"), -ENOENT, "no key file");
    setenv("RGPU_BROKER_KEY", "/dev/null", 1);
    is_int(call("127.0.0.1:1"), -EPERM, "a key file that is none");
    is_int(constrain("model=*H200*,same-box,min-memory=40G,policy=spread"), 0, "constraints");
    is_int(constrain(""), 0, "none");
    is_int(constrain("model"), -EINVAL, "a model needs a value");
    is_int(constrain("same-box=1"), -EINVAL, "a flag takes none");
    is_int(constrain("colour=red"), -EINVAL, "unknown words are errors");
    return done();
}
