# SPDX-License-Identifier: BSD-3-Clause
"""cuSOLVER, cuSPARSE, cuFFT, cuRAND and cuDNN through PyTorch, each against the processor's result."""
from app import check, median_time, needs

torch = needs("torch")
torch.manual_seed(1)


def same(on_gpu, on_processor, atol=1e-3):
    return torch.allclose(on_gpu.cpu(), on_processor, atol=atol)


m = torch.randn(96, 96, dtype=torch.float64)
spd = m @ m.T + 96 * torch.eye(96, dtype=torch.float64)
check("singular values", same(torch.linalg.svdvals(m.cuda()), torch.linalg.svdvals(m)))
check("eigenvalues", same(torch.linalg.eigvalsh(spd.cuda()), torch.linalg.eigvalsh(spd)))
check("Cholesky", same(torch.linalg.cholesky(spd.cuda()), torch.linalg.cholesky(spd)))
check("solve", same(torch.linalg.solve(spd.cuda(), m.cuda()), torch.linalg.solve(spd, m)))
q, r = torch.linalg.qr(m.cuda())
check("QR", same(q @ r, m))
batch = torch.randn(32, 16, 16, dtype=torch.float64)
check("batched inverse", same(torch.linalg.inv(batch.cuda()) @ batch.cuda(),
                              torch.eye(16, dtype=torch.float64).expand(32, 16, 16), atol=1e-6))

dense = torch.randn(200, 300) * (torch.rand(200, 300) < 0.05)
right = torch.randn(300, 40)
check("sparse (CSR) product", same(dense.to_sparse_csr().cuda() @ right.cuda(), dense @ right))
check("sparse (COO) product", same(torch.sparse.mm(dense.to_sparse().cuda(), right.cuda()), dense @ right))

x = torch.randn(8, 64, 64)
check("two-dimensional FFT", same(torch.fft.fft2(x.cuda()).abs(), torch.fft.fft2(x).abs(), atol=1e-2))
check("FFT and back", same(torch.fft.irfft(torch.fft.rfft(x.cuda())), x))

torch.cuda.manual_seed(7)
first = torch.randn(1000, device="cuda")
torch.cuda.manual_seed(7)
check("the same random numbers from the same seed", torch.equal(first, torch.randn(1000, device="cuda")))

conv = torch.nn.Conv2d(3, 8, 3)
images = torch.randn(4, 3, 32, 32)
expected = conv(images).detach()
check("convolution", same(conv.cuda()(images.cuda()).detach(), expected, atol=1e-2))
lstm = torch.nn.LSTM(16, 32, 2, batch_first=True)
words = torch.randn(4, 12, 16)
expected = lstm(words)[0].detach()
check("LSTM", same(lstm.cuda()(words.cuda())[0].detach(), expected, atol=1e-2))
big = torch.randn(2048, 2048, device="cuda")
median_time("singular values of 96 x 96", lambda: torch.linalg.svdvals(m.cuda()), torch.cuda.synchronize, 20)
median_time("product of 2048 x 2048", lambda: big @ big, torch.cuda.synchronize)
