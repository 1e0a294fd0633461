// SPDX-License-Identifier: BSD-3-Clause
// Heads of requests: valid ones are parsed, ambiguous ones are refused.
#include <stdlib.h>

#include "broker/http/http_head.h"
#include "tests/tap.h"

static char text[2 * HTTP_HEAD_MAX];

static int parse(const char *source, struct http_head *head)
{
    const char *why = NULL;
    int status;

    snprintf(text, sizeof(text), "%s", source);
    status = http_head_parse(text, strlen(text), head, &why);
    if (status && !why)
        bail("refused without a reason");
    return status;
}

#define EIGHT "&a&b&c&d&e&f&g&h"

static void test_understood(void)
{
    struct http_head head;

    is_int(parse("GET /v1/boxes?wait=1 HTTP/1.1\r\nHost: a\r\n\r\n", &head), 0, "a plain request");
    is_int(head.method, EVHTTP_REQ_GET, "its method");
    is_str(head.target, "/v1/boxes?wait=1", "its path and query");
    ok(head.keep_alive && head.body_size == 0 && !head.authorization, "what it does not say");
    is_int(parse("POST /v1/leases HTTP/1.1\r\nauthorization:  Munge x \r\ncontent-length: 12\r\n"
                 "CONTENT-SHA256: ab\r\nExpect: 100-Continue\r\nConnection: foo, Close\r\n\r\n",
                 &head),
           0, "headers in any case");
    is_str(head.authorization, "Munge x", "without the blanks around their values");
    is_int(head.body_size, 12, "the size of the body");
    is_str(head.body_digest, "ab", "its digest");
    ok(head.expects_continue && !head.keep_alive, "expectations, and the end");
    is_int(parse("DELETE / HTTP/1.0\r\n\r\n", &head), 0, "an old client");
    ok(!head.keep_alive, "of which each request has a connection");
    is_int(parse("PATCH / HTTP/1.1\r\n\r\n", &head), 0, "an unknown method is well formed");
    is_int(head.method, 0, "and none of ours");
    is_int(parse("GET /?a" EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT " HTTP/1.1\r\n\r\n", &head), 0,
           "many parameters");
    is_int(parse("PUT /x HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n", &head), 0,
           "the largest body");
}

static void test_refused(void)
{
    static const struct {
        int status;
        const char *text, *what;
    } cases[] = {
        {400, "\r\n\r\n", "nothing"},
        {400, "GET /\r\n\r\n", "no version"},
        {400, "GET / HTTP/2.0\r\n\r\n", "another version"},
        {400, "GET  / HTTP/1.1\r\n\r\n", "two spaces"},
        {400, "GET / HTTP/1.1 \r\n\r\n", "something behind the version"},
        {400, "GET boxes HTTP/1.1\r\n\r\n", "a target without a slash"},
        {400, "GET http://a/ HTTP/1.1\r\n\r\n", "a proxy's target"},
        {400, "GET /\x80 HTTP/1.1\r\n\r\n", "bytes above ASCII in the target"},
        {400, "GET /a#b HTTP/1.1\r\n\r\n", "a fragment"},
        {400, "GET /?a" EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT " HTTP/1.1\r\n\r\n",
         "more than 64 parameters"},
        {400, "G(T / HTTP/1.1\r\n\r\n", "a method that is no word"},
        {400, "GET / HTTP/1.1\n\n", "lines without CR"},
        {400, "GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", "one line without CR"},
        {400, "GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n", "a CR in a line"},
        {400, "GET / HTTP/1.1\r\nA: b\x01\r\n\r\n", "a control character"},
        {400, "GET / HTTP/1.1\r\nA: b\x7f\r\n\r\n", "another"},
        {400, "GET / HTTP/1.1\r\nno colon\r\n\r\n", "no colon"},
        {400, "GET / HTTP/1.1\r\n: b\r\n\r\n", "no name"},
        {400, "GET / HTTP/1.1\r\nA : b\r\n\r\n", "a blank before the colon"},
        {400, "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "a header over two lines"},
        {400, "GET / HTTP/1.1\r\nA: b\r\n\r\nmore\r\n\r\n", "something behind the empty line"},
        {400, "GET / HTTP/1.1\r\nA: b\r\n", "no empty line"},
        {400, "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "two sizes"},
        {400, "GET / HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n", "equal ones too"},
        {400, "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "a size below zero"},
        {400, "GET / HTTP/1.1\r\nContent-Length: 0x10\r\n\r\n", "a size that is no number"},
        {400, "GET / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", "a list of sizes"},
        {400, "GET / HTTP/1.1\r\nContent-Length:\r\n\r\n", "an empty size"},
        {400, "GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", "two credentials"},
        {400, "GET / HTTP/1.1\r\nContent-SHA256: a\r\nContent-SHA256: b\r\n\r\n", "two digests"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "two hosts"},
        {400, "GET / HTTP/1.1\r\nOrigin: a\r\nOrigin: b\r\n\r\n", "two origins"},
        {400, "GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", "a GET request with a body"},
        {413, "PUT / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", "too large a body"},
        {413, "PUT / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", "far too large"},
        {417, "PUT / HTTP/1.1\r\nExpect: 200-ok\r\n\r\n", "another expectation"},
        {501, "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "a body in chunks"},
    };
    struct http_head head;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        is_int(parse(cases[i].text, &head), cases[i].status, "refused: %s", cases[i].what);
}

// Checks that a zero in the text does not hide the text after it.
static void test_zero(void)
{
    static const char source[] = "GET / HTTP/1.1\r\nA: b\0c\r\n\r\n";
    struct http_head head;
    const char *why;

    memcpy(text, source, sizeof(source));
    is_int(http_head_parse(text, sizeof(source) - 1, &head, &why), 400, "a zero in a header");
    memcpy(text, "GET / HTTP/1.1\r\n\r\n\0", 19);
    is_int(http_head_parse(text, 19, &head, &why), 400, "a zero behind the end");
}

int main(void)
{
    test_understood();
    test_refused();
    test_zero();
    return done();
}
