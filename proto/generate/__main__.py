# SPDX-License-Identifier: BSD-3-Clause
"""Makes the code of both sides from the lists of calls and of control messages.

usage: generate SPEC TEMPLATE            what the template gives, to standard output
       generate SPEC --check [LOCK]      fail where the list changed without its version
       generate SPEC --lock [LOCK]       enter the list's version into the lock (proto/version.lock)
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
    if len(arguments) not in (2, 3) or (len(arguments) == 3 and not arguments[1].startswith('--')):
        sys.exit(f'{__doc__}\ntemplates: {" ".join(template.names())}')
    protocol, model = read(arguments[0])
    if arguments[1] in ('--check', '--lock'):
        act = lock.check if arguments[1] == '--check' else lock.add
        sys.exit(act(protocol.name, protocol.version, model['digest'], *arguments[2:]))
    if arguments[1] not in template.names():
        sys.exit(f'no template {arguments[1]}; there are: {" ".join(template.names())}')
    sys.stdout.write(template.fill(arguments[1], dict(model, protocol=protocol)))


main(sys.argv[1:])
