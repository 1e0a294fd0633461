# SPDX-License-Identifier: BSD-3-Clause
"""Keeps protocol versions honest: a version number belongs to one text of a protocol for ever.

proto/version.lock has one line per published version: NAME VERSION HASH. A spec whose hash differs
from the line of its version was changed without raising the version.
"""

import os
import sys

LOCK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "version.lock")


def read(path=LOCK):
    versions = {}
    if os.path.exists(path):
        with open(path, encoding="ascii") as lock:
            for line in lock:
                fields = line.split("#")[0].split()
                if fields:
                    name, version, digest = fields
                    versions[name, int(version)] = digest
    return versions


def check(name, version, digest, path=LOCK):
    """None when the lock agrees, else what is wrong and what to do."""
    known = read(path).get((name, version))
    if known == digest:
        return None
    if known is None:
        return (f"protocol {name} version {version} is not in {os.path.basename(path)}; "
                f"add it with --lock")
    return (f"protocol {name} was changed but still calls itself version {version}; "
            f"raise the version in the spec, then add it with --lock")


def add(name, version, digest, path=LOCK):
    """Writes a new version into the lock; a version that is there with another hash stays."""
    versions = read(path)
    if versions.get((name, version), digest) != digest:
        sys.exit(check(name, version, digest, path))
    if (name, version) not in versions:
        with open(path, "a", encoding="ascii") as lock:
            lock.write(f"{name} {version} {digest}\n")
