# SPDX-License-Identifier: BSD-3-Clause
"""Triton: an element-wise kernel, a tiled product, and one that loads by TMA descriptors."""
from app import check, median_time, needs

torch, triton = needs("torch", "triton")
import triton.language as tl  # noqa: E402


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def product(a, b, c, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n, BLOCK):
        inner = k + tl.arange(0, BLOCK)
        total += tl.dot(tl.load(a + rows[:, None] * n + inner[None, :]),
                        tl.load(b + inner[:, None] * n + columns[None, :]))
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def product_tma(a, b, c, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    left = tl.make_tensor_descriptor(a, [n, n], [n, 1], [BLOCK, BLOCK])
    right = tl.make_tensor_descriptor(b, [n, n], [n, 1], [BLOCK, BLOCK])
    out = tl.make_tensor_descriptor(c, [n, n], [n, 1], [BLOCK, BLOCK])
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n, BLOCK):
        total += tl.dot(left.load([row, k]), right.load([k, column]))
    out.store([row, column], total)


@triton.jit
def scale_host_descriptor(source, out, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    out.store([row, column], source.load([row, column]) * 2)


n = 512
x, y = torch.randn(100000, device="cuda"), torch.randn(100000, device="cuda")
out = torch.empty_like(x)
add[(triton.cdiv(100000, 1024),)](x, y, out, 100000, BLOCK=1024)
check("sum", torch.equal(out, x + y))
a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
exact = a.float() @ b.float()
c = torch.empty(n, n, device="cuda")
product[(n // 64, n // 64)](a, b, c, n, BLOCK=64)
check("tiled product", torch.allclose(c, exact, atol=1e-1))
median_time("tiled product", lambda: product[(n // 64, n // 64)](a, b, c, n, BLOCK=64), torch.cuda.synchronize)
triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
c.zero_()
product_tma[(n // 64, n // 64)](a, b, c, n, BLOCK=64)
check("product with descriptors made on the GPU", torch.allclose(c, exact, atol=1e-1))
try:
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError:
    print("descriptors made on the host: not in this Triton")
else:
    doubled = torch.empty_like(a)
    scale_host_descriptor[(n // 64, n // 64)](TensorDescriptor.from_tensor(a, [64, 64]),
                                              TensorDescriptor.from_tensor(doubled, [64, 64]), BLOCK=64)
    check("descriptors made on the host", torch.equal(doubled, a * 2))
