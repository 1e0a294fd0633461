# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's profiler sees the kernels and copies of the GPU."""
from app import check, needs

torch = needs("torch")
from torch.profiler import ProfilerActivity, profile  # noqa: E402

a = torch.randn(512, 512, device="cuda")
torch.cuda.synchronize()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
    for _ in range(5):
        b = a @ a
    c = b.cpu()
    torch.cuda.synchronize()
events = p.events()
check("events of the processor", any(e.name == "aten::mm" for e in events))
on_gpu = [e for e in events if e.device_type == torch.autograd.DeviceType.CUDA]
print(f"{len(on_gpu)} events of the GPU")
check("kernels", any("gemm" in e.name.lower() or "cutlass" in e.name.lower() for e in on_gpu))
check("copies", any("memcpy" in e.name.lower() for e in on_gpu))
