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


def visible(rows):
    """Of (index, uuid, name, memory) those that CUDA_VISIBLE_DEVICES, where it is set, lets programs see, in its order."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return rows
    return [row for word in chosen.split(",") for row in rows if word and (row[0] == word or row[1].startswith(word))]


def gpus(known):
    """Names, memory in MiB and numbers of the NVIDIA GPUs that programs can use where the box is."""
    environment = without_ours(os.environ, known)
    if not said_by(where(known, [os.path.join(known["bench"], "measure"), "--probe"]), environment, 90):
        return []
    query = ["nvidia-smi", "--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits"]
    rows = [row.split(", ") for row in said_by(where(known, query), environment).splitlines()]
    found = visible([row for row in rows if len(row) == 4 and row[3].isdigit()])
    return [{"name": row[2], "memory": int(row[3]), "number": int(row[0])} for row in found]


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


SAME = {"host": "host", "box": "machine of the box", "cpu": "processor", "cores": "number of cores", "gpu": "GPU", "driver": "driver",
        "kernel": "kernel", "rgpu": "version of rgpu"}


def differences(a, b):
    """What keeps results of both from standing in one file, in words."""
    found = ["%s (%s, now %s)" % (word, a.get(part) or "none", b.get(part) or "none") for part, word in SAME.items()
             if a.get(part) != b.get(part)]
    if len(a["gpus"]) != len(b["gpus"]):
        found.append("number of GPUs (%d, now %d)" % (len(a["gpus"]), len(b["gpus"])))
    return found


def same_machine(a, b):
    """Whether results of both may stand in one file."""
    return not differences(a, b)
