#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One request over TCP, signed well or badly: signed.py HOST:PORT KEY-FILE|none [options] METHOD
PATH [BODY]. Prints the status and the body, of the last answer."""
import argparse
import hashlib
import hmac
import http.client
import secrets
import time

parser = argparse.ArgumentParser()
parser.add_argument("address")
parser.add_argument("key")
parser.add_argument("--time", type=int, default=0, help="how far off the signature's time is")
parser.add_argument("--twice", action="store_true", help="send the very same request again")
parser.add_argument("--times", type=int, default=1, help="send it so often, signed anew each time")
parser.add_argument("--keep", action="store_true", help="keep the connections of all these times")
parser.add_argument("--sign-body", help="sign another body, and give its digest")
parser.add_argument("--digest", help="instead of that of the body that is signed")
parser.add_argument("--sign-path")
parser.add_argument("--sign-method")
parser.add_argument("--header", help="instead of a signature")
parser.add_argument("--box", help="sign as this box, with its own key file")
parser.add_argument("--proof", action="store_true", help="print whether the answer is proven, too")
parser.add_argument("method")
parser.add_argument("path")
parser.add_argument("body", nargs="?", default="")
options = parser.parse_args()
asked, kept = {}, []


def signature():
    key, secret = open(options.key).read().split()[:2]
    body = options.body if options.sign_body is None else options.sign_body
    text = "%s %s\n%s\n" % (options.sign_method or options.method,
                            options.sign_path or options.path,
                            hashlib.sha256(body.encode()).hexdigest())
    moment, nonce = int(time.time()) + options.time, secrets.token_hex(16)
    secret = bytes.fromhex(secret)
    if options.box:
        secret = hmac.new(secret, b"rgpu box requests\n", "sha256").digest()
    mac = hmac.new(secret, (text + "%d\n%s" % (moment, nonce)).encode(), "sha256")
    asked.update(secret=secret, nonce=nonce)
    return "%s %s %d %s %s" % ("RgpuBox " + options.box if options.box else "Rgpu", key, moment,
                               nonce, mac.hexdigest())


def is_proven(status, body, header):
    text = "rgpu answer\n%s\n%d\n%s\n" % (asked["nonce"], status, hashlib.sha256(body).hexdigest())
    return header == "Rgpu " + hmac.new(asked["secret"], text.encode(), "sha256").hexdigest()


def send(headers):
    host, port = options.address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    if options.keep:
        kept.append(connection)
    connection.request(options.method, options.path, options.body or None, headers)
    response = connection.getresponse()
    body = response.read()
    if options.proof:
        print("proven" if is_proven(response.status, body, response.getheader("Authentication-Info"))
              else "unproven")
    return response.status, body.decode()


def fresh():
    said = options.body if options.sign_body is None else options.sign_body
    headers = {"Content-Type": "application/json"}
    if options.digest != "none":
        headers["Content-SHA256"] = options.digest or hashlib.sha256(said.encode()).hexdigest()
    if options.header:
        headers["Authorization"] = options.header
    elif options.key != "none":
        headers["Authorization"] = signature()
    return headers


headers = fresh()
status, text = send(headers)
while "older than the broker" in text and not options.time:
    time.sleep(0.2)  # a broker takes nothing signed before its own start
    headers = fresh()
    status, text = send(headers)
for _ in range(options.times - 1):
    status, text = send(fresh())
if options.twice:
    status, text = send(headers)
print(status)
print(text)
