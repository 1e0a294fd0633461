# SPDX-License-Identifier: BSD-3-Clause
"""What machine this is: what every result carries, as figures of different machines are not to be compared."""
import os
import platform
import re
import subprocess

from house.places import without_ours


def said_by(command, environment=None, limit=30):
    """What a command prints, or nothing where it fails or is not there."""
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit,
                              stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def first_of(path, pattern):
    try:
        with open(path) as file:
            found = re.search(pattern, file.read(), re.M)
    except OSError:
        return ""
    return found[1].strip() if found else ""


def where(known, command, environment=None):
    """The command as it is run on the machine of the box."""
    return known["host"].command(command, environment) if known.get("host") else command


def gpus(known):
    """Names and memory in MiB of the NVIDIA GPUs that programs can use where the box is."""
    environment = without_ours(os.environ, known)
    if not said_by(where(known, [os.path.join(known["bench"], "measure"), "--probe"]), environment, 90):
        return []
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    rows = said_by(where(known, query), environment)
    found = [row.rsplit(", ", 1) for row in rows.splitlines()]
    return [{"name": row[0], "memory": int(row[1])} for row in found if len(row) == 2 and row[1].isdigit()]


def describe(known, real):
    names = real or []
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = said_by(where(known, query)) if real else ""
    return {
        "host": platform.node(),
        "box": known["host"].name if known.get("host") else "",
        "cpu": first_of("/proc/cpuinfo", r"^model name\s*:\s*(.*)$") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": int(first_of("/proc/meminfo", r"^MemTotal:\s*(\d+)") or 0) >> 10,
        "gpus": names,
        "gpu": ", ".join(sorted({gpu["name"] for gpu in names})) or "the software GPU",
        "driver": driver.splitlines()[0] if driver else "",
        "kernel": platform.release(),
        "system": first_of("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)'),
        "python": platform.python_version(),
        "rgpu": said_by([os.path.join(known["bin"], "rgpud"), "--version"]),
        "rdma": sorted(os.listdir("/sys/class/infiniband")) if os.path.isdir("/sys/class/infiniband") else [],
        "virtual": first_of("/proc/cpuinfo", r"^flags\s*:.*\b(hypervisor)\b") != "",
        "load": os.getloadavg()[0],
    }


def same_machine(a, b):
    """Whether results of both may stand in one file."""
    return all(a.get(part) == b.get(part) for part in ("host", "box", "cpu", "cores", "gpu", "driver", "kernel", "rgpu"))
