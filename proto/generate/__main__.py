# SPDX-License-Identifier: BSD-3-Clause
"""Makes the code of both sides from the lists of calls and of control messages.

usage: generate SPEC TEMPLATE                what the template gives, to standard output
       generate SPEC --check [LOCK]          fail where what releases know of the list has changed
       generate SPEC --lock RELEASE [LOCK]   enter what a release knows (proto/version.lock)
SPEC is proto/cuda.spec or proto/control.spec, or one in their form.
"""
import sys

import calls
import control
import lock
import source
import template

MODELS = {'calls': calls.read, 'control': control.read}


def read(path):
    lines = source.read(path)
    protocol = source.Protocol(path, lines)
    if protocol.name not in MODELS:
        sys.exit(f'{lines[0].place}: protocol {protocol.name} is neither of {" ".join(MODELS)}')
    return protocol, MODELS[protocol.name](path, protocol, lines[1:])


def main(arguments):
    most = {'--check': 3, '--lock': 4}.get(arguments[1] if len(arguments) > 1 else '', 2)
    if not 2 <= len(arguments) <= most or arguments[1:] == ['--lock']:
        sys.exit(f'{__doc__}\ntemplates: {" ".join(template.names())}')
    protocol, model = read(arguments[0])
    if arguments[1] in ('--check', '--lock'):
        act = lock.check if arguments[1] == '--check' else lock.add
        sys.exit(act(protocol, model, *arguments[2:]))
    if arguments[1] not in template.names():
        sys.exit(f'no template {arguments[1]}; there are: {" ".join(template.names())}')
    sys.stdout.write(template.fill(arguments[1], dict(model, protocol=protocol)))


main(sys.argv[1:])
