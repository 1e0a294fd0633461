#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command as systemd would run it for a unit, without systemd.

usage: as_unit.py UNIT USER GROUP DIRECTORY -- COMMAND...

USER and GROUP are numbers that stand for the unit's account, DIRECTORY for / where the unit's state
and run-time directories lie. Of every property in [Service] this knows either how to apply it or that
it is of no consequence for what the command may do; any other one is an error, so that a new property
is not left out of the tests unnoticed. Needs root; the device policy is left out, since it takes a
cgroup of one's own."""

import ctypes
import os
import resource
import subprocess
import sys

# Of no consequence for the rights of the processes.
IGNORED = set("""Type NotifyAccess ExecStart ExecStartPre ExecReload ExecStop KillMode TimeoutStopSec TimeoutStartSec
    WatchdogSec Restart RestartSec TasksMax DevicePolicy DeviceAllow KeyringMode LockPersonality
    ProtectClock ProtectHostname ProtectKernelLogs RestrictRealtime RestrictSUIDSGID RestrictNamespaces
    SupplementaryGroups MemoryMax Delegate RemoveIPC PrivateMounts""".split())

CAPABILITIES = {name: number for number, name in enumerate("""CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER
    FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW
    IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE
    SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE
    MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE""".split())}

FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}

PR_CAPBSET_DROP, PR_SET_KEEPCAPS, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 24, 8, 38, 47
PR_CAP_AMBIENT_RAISE, PR_CAP_AMBIENT_CLEAR_ALL = 2, 4
SCMP_ACT_ALLOW, SCMP_CMP_NE, SCMP_CMP_EQ, SCMP_CMP_MASKED_EQ = 0x7FFF0000, 1, 4, 7
ERRNO_ACTION = 0x00050000

libc = ctypes.CDLL(None, use_errno=True)


def fail(text):
    sys.exit(f"as_unit: {text}")


def call(function, *arguments):
    if getattr(libc, function)(*arguments):
        fail(f"{function}{arguments}: {os.strerror(ctypes.get_errno())}")


def prctl(*arguments):
    call("prctl", *[ctypes.c_ulong(a) for a in (list(arguments) + [0] * 5)[:5]])


def read_unit(path):
    properties, section = {}, None
    with open(path, encoding="utf-8") as unit:
        for line in unit:
            line = line.strip()
            if line.startswith("["):
                section = line
            elif line and line[0] != "#" and section == "[Service]":
                name, _, value = line.partition("=")
                properties.setdefault(name, []).append(value)
    return properties


# ---- the file system ----

def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def read_only(path):
    if os.path.isdir(path):
        mount("--bind", path, path)
        mount("-o", "remount,bind,ro", path)


def protect_files(properties, directory, account):
    if libc.unshare(0x00020000):
        fail("no mount namespace of one's own")
    mount("--make-rprivate", "/")
    if properties.pop("ProtectSystem", None) not in (["strict"], None):
        fail("only ProtectSystem=strict is known")
    for name in ("usr", "etc", "boot", "opt", "srv", "var", "lib", "bin", "sbin"):
        if not os.path.islink("/" + name):
            read_only("/" + name)
    for property_name, paths in (("ProtectHome", ["/home"]), ("ProtectKernelModules", ["/usr/lib/modules"]),
                                 ("ProtectControlGroups", [])):
        if properties.pop(property_name, None) == ["yes"]:
            for path in paths:
                if os.path.isdir(path):
                    mount("-t", "tmpfs", "-o", "mode=0,ro", "tmpfs", path)
    settings_protected = properties.pop("ProtectKernelTunables", None) == ["yes"]
    if settings_protected:
        for path in ("/proc/sys", "/sys"):
            read_only(path)
    if properties.pop("ProtectProc", None) == ["invisible"]:
        mount("-t", "proc", "-o", "hidepid=invisible", "proc", "/proc")
        if settings_protected:
            read_only("/proc/sys")
    properties.pop("ReadWritePaths", None)  # below /run, which is not protected here
    properties.pop("PrivateTmp", None)  # the test's own directory lies there
    for kind, where in (("RuntimeDirectory", "run"), ("StateDirectory", "var/lib"),
                        ("CacheDirectory", "var/cache")):
        mode = int(properties.pop(kind + "Mode", ["0755"])[0], 8)
        for name in properties.pop(kind, []):
            path = os.path.join(directory, where, name)
            os.makedirs(path, exist_ok=True)
            os.chmod(path, mode)
            os.chown(path, *account)


# ---- limits, user, capabilities ----

def set_limits(properties):
    for name in [n for n in properties if n.startswith("Limit")]:
        value = properties.pop(name)[0]
        kind = getattr(resource, "RLIMIT_" + name[5:])
        number = resource.RLIM_INFINITY if value == "infinity" else int(value)
        try:
            resource.setrlimit(kind, (number, number))
        except ValueError:  # root of a container may not raise it
            print(f"as_unit: {name}={value} is more than there is here", file=sys.stderr)
    os.umask(int(properties.pop("UMask", ["0022"])[0], 8))


def capabilities(properties, name):
    words = " ".join(properties.pop(name, [])).split()
    return [CAPABILITIES[word.removeprefix("CAP_")] for word in words]


def become(properties, account):
    bounding = capabilities(properties, "CapabilityBoundingSet")
    ambient = capabilities(properties, "AmbientCapabilities")
    user, group = account
    properties.pop("User"), properties.pop("Group")
    for number in CAPABILITIES.values():
        if number not in bounding and libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0):
            if ctypes.get_errno() != 22:
                fail("cannot bound the capabilities")
    prctl(PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    mask = sum(1 << number for number in ambient)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(*[mask & 0xffffffff] * 3, *[mask >> 32] * 3)
    call("capset", header, data)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for number in ambient:
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number)
    properties.pop("NoNewPrivileges")
    prctl(PR_SET_NO_NEW_PRIVS, 1)


# ---- system calls ----

def expand(word):
    """The calls of a group such as @system-service, as this machine's systemd has it."""
    if not word.startswith("@"):
        return {word}
    calls = set()
    text = subprocess.run(["systemd-analyze", "syscall-filter", word], check=True, text=True,
                          capture_output=True).stdout
    for line in text.splitlines()[1:]:
        name = line.strip()
        if name and name[0] != "#":
            calls |= expand(name)
    return calls


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("a", ctypes.c_uint64),
                ("b", ctypes.c_uint64)]


class Filter:
    """One that refuses with ERROR what it does not allow, or, with ALLOWING, allows the rest."""

    def __init__(self, error, allowing=False):
        self.seccomp = ctypes.CDLL("libseccomp.so.2")
        self.seccomp.seccomp_init.restype = ctypes.c_void_p
        self.error = ERRNO_ACTION | error
        self.context = ctypes.c_void_p(
            self.seccomp.seccomp_init(ctypes.c_uint32(SCMP_ACT_ALLOW if allowing else self.error)))

    def add(self, action, name, *comparisons):
        number = self.seccomp.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            return  # of another architecture, or not known here
        array = (Comparison * max(1, len(comparisons)))(*comparisons)
        if self.seccomp.seccomp_rule_add_array(self.context, ctypes.c_uint32(action), number,
                                               len(comparisons), array):
            fail(f"no rule for {name}")

    def load(self):
        self.seccomp.seccomp_attr_set(self.context, 3, 0)  # no_new_privs is the unit's to set
        if self.seccomp.seccomp_load(self.context):
            fail("the filter is not taken")


def system_call_filter(properties):
    allowed = set()
    for line in properties.pop("SystemCallFilter", []):
        taken_away = line.startswith("~")
        for word in line.lstrip("~").split():
            allowed = allowed - expand(word) if taken_away else allowed | expand(word)
    if properties.pop("SystemCallErrorNumber", None) != ["EPERM"]:
        fail("only SystemCallErrorNumber=EPERM is known")
    if properties.pop("SystemCallArchitectures", None) != ["native"]:
        fail("only SystemCallArchitectures=native is known")
    result = Filter(1)
    for name in sorted(allowed | {"execve"}):
        result.add(SCMP_ACT_ALLOW, name)
    return result


def no_executable_memory(properties):
    """Memory that is both written and executed, or becomes executable."""
    result = Filter(1, allowing=True)
    if properties.pop("MemoryDenyWriteExecute", None) == ["yes"]:
        result.add(result.error, "mmap", Comparison(2, SCMP_CMP_MASKED_EQ, 6, 6))
        for name in ("mprotect", "pkey_mprotect"):
            result.add(result.error, name, Comparison(2, SCMP_CMP_MASKED_EQ, 4, 4))
    return result


def address_families(properties):
    families = {FAMILIES[word] for word in properties.pop("RestrictAddressFamilies")[0].split()}
    result = Filter(97, allowing=True)
    for family in set(range(64)) - families:
        result.add(result.error, "socket", Comparison(0, SCMP_CMP_EQ, family, 0))
    return result


def main():
    unit, user, group, directory, dashes, *command = sys.argv[1:]
    if dashes != "--" or not command:
        fail(__doc__)
    account = (int(user), int(group))
    properties = {n: v for n, v in read_unit(unit).items() if n not in IGNORED}
    filters = [system_call_filter(properties), no_executable_memory(properties), address_families(properties)]
    protect_files(properties, directory, account)
    set_limits(properties)
    if properties.get("NoNewPrivileges") != ["yes"]:
        fail("a filter needs NoNewPrivileges=yes")
    become(properties, account)
    if properties:
        fail(f"properties that are not known here: {' '.join(properties)}")
    for result in reversed(filters):
        result.load()
    os.execv(command[0], command)


main()
