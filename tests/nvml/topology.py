#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How near GPUs are to each other, as nvidia-smi topo -m asks the management library: one JSON object, with the GPUs'
UUIDs, and for each pair the number of links between them, the level of what they have in common, and whether they reach
each other's memory.

usage: topology.py LIBRARY
"""
import ctypes
import json
import sys

library = ctypes.CDLL(sys.argv[1])


class Pci(ctypes.Structure):
    _fields_ = [('legacy', ctypes.c_char * 16), ('domain', ctypes.c_uint), ('bus', ctypes.c_uint),
                ('device', ctypes.c_uint), ('device_id', ctypes.c_uint), ('subsystem_id', ctypes.c_uint),
                ('bus_id', ctypes.c_char * 32)]

    def place(self):
        return self.domain, self.bus, self.device


def ask(name, *arguments):
    """None: the library does not say."""
    out = ctypes.c_uint()
    return None if getattr(library, name)(*arguments, ctypes.byref(out)) else out.value


def place(device):
    pci = Pci()
    assert library.nvmlDeviceGetPciInfo_v3(device, ctypes.byref(pci)) == 0
    return pci.place()


def behind_links(device):
    found = []
    for link in range(18):
        pci = Pci()
        if ask('nvmlDeviceGetNvLinkState', device, link) and \
                library.nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, ctypes.byref(pci)) == 0:
            found.append(pci.place())
    return found


def near(device, level, devices):
    count = ctypes.c_uint(len(devices))
    room = (ctypes.c_void_p * (len(devices) or 1))()
    if library.nvmlDeviceGetTopologyNearestGpus(device, level, ctypes.byref(count), room):
        return None
    return sorted([d.value for d in devices].index(found) for found in room[:count.value])


assert library.nvmlInit_v2() == 0
count = ctypes.c_uint()
assert library.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
devices = [ctypes.c_void_p() for _ in range(count.value)]
for i, device in enumerate(devices):
    assert library.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(device)) == 0
said = {'uuids': [], 'links': [], 'levels': [], 'peers': []}
for device in devices:
    text = ctypes.create_string_buffer(96)
    assert library.nvmlDeviceGetUUID(device, text, 96) == 0
    said['uuids'].append(text.value.decode())
    behind = behind_links(device)
    said['links'].append([behind.count(place(other)) if other is not device else 0 for other in devices])
    said['levels'].append([ask('nvmlDeviceGetTopologyCommonAncestor', device, other) for other in devices])
    said['peers'].append([ask('nvmlDeviceGetP2PStatus', device, other, 0) for other in devices])
if hasattr(library, 'nvmlDeviceGetTopologyNearestGpus'):
    said['bridge'] = [near(device, 10, devices) for device in devices]
    said['system'] = [near(device, 50, devices) for device in devices]
print(json.dumps(said))
