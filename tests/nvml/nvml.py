#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the management library says, as nvidia-ml-py asks it: one JSON object.

usage: nvml.py LIBRARY [CUDA_LIBRARY]      with CUDA_LIBRARY also what CUDA says of the same devices
"""
import ctypes
import json
import sys

library = ctypes.CDLL(sys.argv[1])


class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ('total', 'free', 'used')]


class Process(ctypes.Structure):
    _fields_ = [('pid', ctypes.c_uint), ('used', ctypes.c_ulonglong), ('gi', ctypes.c_uint), ('ci', ctypes.c_uint)]


class Pci(ctypes.Structure):
    _fields_ = [('legacy', ctypes.c_char * 16), ('domain', ctypes.c_uint), ('bus', ctypes.c_uint),
                ('device', ctypes.c_uint), ('device_id', ctypes.c_uint), ('subsystem_id', ctypes.c_uint),
                ('bus_id', ctypes.c_char * 32)]


class Utilization(ctypes.Structure):
    _fields_ = [('gpu', ctypes.c_uint), ('memory', ctypes.c_uint)]


def must(result):
    if result:
        library.nvmlErrorString.restype = ctypes.c_char_p
        raise SystemExit('error %d %s' % (result, library.nvmlErrorString(result).decode()))


def text(function, device):
    buffer = ctypes.create_string_buffer(96)
    must(function(device, buffer, 96))
    return buffer.value.decode()


def processes(device):
    count, room = ctypes.c_uint(64), (Process * 64)()
    must(library.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), room))
    return [[p.pid, p.used] for p in room[:count.value]]


def links(device):
    """Of each link that is up: what is behind it, as NCCL asks."""
    found, up, can, room = [], ctypes.c_uint(), ctypes.c_uint(), ctypes.create_string_buffer(52)
    for link in range(18):
        if library.nvmlDeviceGetNvLinkCapability(device, link, 0, ctypes.byref(can)) or not can.value:
            continue
        must(library.nvmlDeviceGetNvLinkState(device, link, ctypes.byref(up)))
        must(library.nvmlDeviceGetNvLinkRemotePciInfo(device, link, room))
        found += [room.raw[:16].split(b'\0')[0].decode()] if up.value else []
    return found


def describe(index):
    device, memory, pci, utilization = ctypes.c_void_p(), Memory(), Pci(), Utilization()
    major, minor = ctypes.c_int(), ctypes.c_int()
    must(library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)))
    must(library.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)))
    must(library.nvmlDeviceGetPciInfo_v3(device, ctypes.byref(pci)))
    must(library.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor)))
    bar1 = (ctypes.c_ulonglong * 3)()
    mapped = library.nvmlDeviceGetBAR1MemoryInfo(device, bar1)
    busy = library.nvmlDeviceGetUtilizationRates(device, ctypes.byref(utilization))
    return {'name': text(library.nvmlDeviceGetName, device), 'uuid': text(library.nvmlDeviceGetUUID, device),
            'total': memory.total, 'used': memory.used, 'free': memory.free,
            'pci': '%04x:%02x:%02x.0' % (pci.domain, pci.bus, pci.device),
            'capability': [major.value, minor.value],
            'utilization': utilization.gpu if busy == 0 else None, 'processes': processes(device),
            'links': links(device),
            'mapped': bar1[0] if mapped == 0 else mapped,
            'temperature': library.nvmlDeviceGetTemperature(device, 0, ctypes.byref(ctypes.c_uint())),
            'power': library.nvmlDeviceGetPowerUsage(device, ctypes.byref(ctypes.c_uint()))}


def cuda(path):
    driver = ctypes.CDLL(path)
    if driver.cuInit(0):
        raise SystemExit('cuInit failed')
    count, found = ctypes.c_int(), []
    driver.cuDeviceGetCount(ctypes.byref(count))
    for i in range(count.value):
        name, uuid, pci = ctypes.create_string_buffer(96), (ctypes.c_ubyte * 16)(), ctypes.create_string_buffer(32)
        total = ctypes.c_size_t()
        driver.cuDeviceGetName(name, 96, i)
        driver.cuDeviceGetUuid(ctypes.byref(uuid), i)
        driver.cuDeviceGetPCIBusId(pci, 32, i)
        driver.cuDeviceTotalMem_v2(ctypes.byref(total), i)
        u = bytes(uuid).hex()
        found.append({'name': name.value.decode(), 'pci': pci.value.decode().lower(), 'total': total.value,
                      'uuid': 'GPU-' + '-'.join([u[:8], u[8:12], u[12:16], u[16:20], u[20:]])})
    return found


must(library.nvmlInit_v2())
count = ctypes.c_uint()
must(library.nvmlDeviceGetCount_v2(ctypes.byref(count)))
said = {'gpus': [describe(i) for i in range(count.value)]}
driver = ctypes.create_string_buffer(80)
said['driver'] = driver.value.decode() if library.nvmlSystemGetDriverVersion(driver, 80) == 0 else None
must(library.nvmlShutdown())
if len(sys.argv) > 2:
    said['cuda'] = cuda(sys.argv[2])
print(json.dumps(said))
