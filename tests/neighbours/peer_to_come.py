#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stands between a broker and who asks it, and makes each the other's peer of a release to come: every
object of a request, of an answer and of a ticket gets a member that nobody knows, and is signed anew.

usage: peer_to_come.py BROKER KEY-FILE...     prints its port; the keys are those of who asks
       peer_to_come.py ticket KEY-FILE        the same to the tickets on standard input (on their way to who
                                              asks they are sealed)"""
import base64
import hashlib
import hmac
import http.client
import http.server
import json
import re
import sys

broker, keys = sys.argv[1], {}
for path in sys.argv[2:]:
    with open(path) as file:
        for words in (line.split('#')[0].split() for line in file):
            if words:
                keys.setdefault(words[0], []).append(bytes.fromhex(words[1]))


def grown(value):
    if isinstance(value, list):
        return [grown(item) for item in value]
    if isinstance(value, dict):
        return dict({name: grown(item) for name, item in value.items()}, novelty={'to': ['come', 1, None]})
    return value


def decoded(part):
    return base64.urlsafe_b64decode(part + '=' * (-len(part) % 4))


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip('=')


def mac(secret, text):
    return hmac.new(secret, text, 'sha256').digest()


def grown_ticket(token):
    public, _, signature = token.rpartition('.')
    header, payload = [json.loads(decoded(part)) for part in public.split('.')]
    for secret in keys[header['kid']]:
        if mac(secret, public.encode()) == decoded(signature):
            text = encoded(json.dumps(header).encode()) + '.' + encoded(json.dumps(grown(payload)).encode())
            return text + '.' + encoded(mac(secret, text.encode()))
    raise KeyError('a ticket of an unknown key')


class Asked:
    """Who asks, and with what secret."""

    def __init__(self, handler, body):
        self.words = handler.headers['Authorization'].split()
        self.key, self.time, self.nonce, given = self.words[-4:]
        for secret in keys[self.key]:
            self.secret = mac(secret, b'rgpu box requests\n') if self.words[0] == 'RgpuBox' else secret
            if self.sign(handler, body) == given:
                return
        raise KeyError(f'an unknown key {self.key}')

    def sign(self, handler, body):
        text = f'{handler.command} {handler.path}\n{hashlib.sha256(body).hexdigest()}\n{self.time}\n{self.nonce}'
        return mac(self.secret, text.encode()).hex()

    def prove(self, status, body):
        text = f'rgpu answer\n{self.nonce}\n{status}\n{hashlib.sha256(body).hexdigest()}\n'
        return 'Rgpu ' + mac(self.secret, text.encode()).hex()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def serve(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        asked = Asked(self, body)
        if body:
            body = json.dumps(grown(json.loads(body))).encode()
            print('a request grew', flush=True)
        head = {'Authorization': ' '.join(asked.words[:-1] + [asked.sign(self, body)])}
        if body:
            head['Content-SHA256'] = hashlib.sha256(body).hexdigest()
            head['Content-Type'] = 'application/json'
        connection = http.client.HTTPConnection(*broker.rsplit(':', 1))
        connection.request(self.command, self.path, body or None, head)
        answer = connection.getresponse()
        given = answer.read()
        if given:
            given = json.dumps(grown(json.loads(given))).encode()
            print('an answer grew', flush=True)
        self.send_response(answer.status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(given)))
        if answer.getheader('Authentication-Info'):
            self.send_header('Authentication-Info', asked.prove(answer.status, given))
        self.end_headers()
        self.wfile.write(given)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = serve

    def log_message(self, *arguments):
        pass


if broker == 'ticket':
    print(re.sub(r'eyJ[\w-]+\.[\w-]+\.[\w-]+', lambda token: grown_ticket(token.group()), sys.stdin.read()))
    sys.exit()
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(f'port {server.server_port}', flush=True)
server.serve_forever()
