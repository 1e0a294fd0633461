# SPDX-License-Identifier: BSD-3-Clause
"""pynvml: the GPUs of NVML are those of CUDA, with memory, utilisation and processes."""
import time

from app import check, needs

pynvml, torch = needs("pynvml", "torch")


def becomes(true, seconds=10):
    """Whether it becomes so; what a box tells of a GPU may be some seconds old."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.1)
    return true()


pynvml.nvmlInit()
count = pynvml.nvmlDeviceGetCount()
check("as many GPUs as CUDA has", count == torch.cuda.device_count())
for i in range(count):
    handle = pynvml.nvmlDeviceGetHandleByIndex(i)
    name = pynvml.nvmlDeviceGetName(handle)
    uuid = pynvml.nvmlDeviceGetUUID(handle)
    properties = torch.cuda.get_device_properties(i)
    check(f"GPU {i}: name", name == properties.name)
    check(f"GPU {i}: UUID", str(properties.uuid) in uuid)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    check(f"GPU {i}: memory", 0 < memory.used + memory.free <= memory.total)
    used = memory.used
    keep = torch.zeros(1 << 28, dtype=torch.uint8, device=f"cuda:{i}")
    check(f"GPU {i}: memory in use grows",
          becomes(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).used >= used + (1 << 27)))
    print(name, uuid, pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
          pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU))
    processes = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    print(f"{len(processes)} processes")
print(pynvml.nvmlSystemGetDriverVersion(), torch.cuda.device_count())
