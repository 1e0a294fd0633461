# SPDX-License-Identifier: BSD-3-Clause
"""What programs and columns cannot do without: one row for each kind of need, which says what is missing and the way out."""
import ctypes
import importlib.util
import os
import shutil

from house.places import TOP


def no_file(what, _):
    here = os.path.relpath(what, TOP) if what.startswith(TOP + os.sep) else what
    return None if os.path.exists(what) else "%s is not there: `make studies` builds what this machine can build" % here


def no_command(what, _):
    return None if shutil.which(what) else "the command %s is not there: install it (scripts/install-deps studies)" % what


def no_module(what, _):
    return None if importlib.util.find_spec(what) else "Python's module %s is not there: install it" % what


def no_library(what, _):
    try:
        ctypes.CDLL(what)
    except OSError:
        return "the library %s is not there: install it" % what
    return None


def no_real_gpu(_, context):
    return None if context.real else "there is no NVIDIA GPU on this machine"


def too_few_gpus(what, context):
    if not context.real or len(context.real) >= int(what):
        return None
    return "%s GPUs are needed and %d here" % (what, len(context.real))


def no_rdma(_, context):
    return None if context.machine["rdma"] else ("there is no RDMA device on this machine; one with soft-RoCE is emulated by "
                                                "`scripts/rdma-vm bench/studies/run NAME...`")


def too_few_cores(what, context):
    here = context.machine["cores"]
    return None if here >= int(what) else "%s cores are needed and %d here" % (what, here)


def too_little_memory(what, context):
    if not context.real or all(gpu["memory"] >= int(what) * 1024 * 0.9 for gpu in context.real):
        return None
    return "GPUs of %s GiB are needed" % what


def not_one_host(_, context):
    return "box and programs are on two machines" if context.known.get("host") else None


def no_mps(_, context):
    if not context.real or shutil.which("nvidia-cuda-mps-control"):
        return None
    return "nvidia-cuda-mps-control is not there: it comes with NVIDIA's driver"


def no_root(_, __):
    return None if os.getuid() == 0 else "it is for root"


KINDS = {"file": no_file, "command": no_command, "python": no_module, "library": no_library, "real-gpu": no_real_gpu, "gpus": too_few_gpus,
         "rdma": no_rdma, "cores": too_few_cores, "memory": too_little_memory, "same-host": not_one_host, "root": no_root,
         "mps": no_mps}


def obstacle(needs, context):
    """Why these cannot be fulfilled here, or None. CONTEXT knows the machine, its real GPUs and its places."""
    for need in needs:
        if need.kind not in KINDS:
            return "it needs %s, which is no kind of need; there are %s" % (need.kind, ", ".join(KINDS))
        why = KINDS[need.kind](context.fill(need.what), context)
        if why:
            return why
    return None
