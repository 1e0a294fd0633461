# SPDX-License-Identifier: BSD-3-Clause
"""Scaled dot-product attention by each of PyTorch's kernels, forward and backward."""
from app import check, median_time, needs

torch = needs("torch")
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

torch.manual_seed(2)
shape = (4, 8, 256, 64)
q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
attend = torch.nn.functional.scaled_dot_product_attention
with sdpa_kernel(SDPBackend.MATH):
    exact = attend(q.double(), k.double(), v.double(), is_causal=True)
for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
    with sdpa_kernel(backend):
        out = attend(q, k, v, is_causal=True)
        out.sum().backward()
        check(f"{backend.name.lower()}", torch.allclose(out.double(), exact, atol=5e-2))
        median_time(backend.name.lower(), lambda: attend(q, k, v, is_causal=True), torch.cuda.synchronize)
check("gradients are there", all(t.grad.abs().sum().item() > 0 for t in (q, k, v)))
