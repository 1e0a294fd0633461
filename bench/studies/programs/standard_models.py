# SPDX-License-Identifier: BSD-3-Clause
"""Three standard models of machine learning, small files, with random weights: ResNet-50 (He and others, 2015), GPT-2
(Radford and others, 2019) and Llama (Touvron and others, 2023, with the grouped heads of its second release)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Bottleneck(nn.Module):
    def __init__(self, into, middle, stride):
        super().__init__()
        out = middle * 4
        self.path = nn.Sequential(
            nn.Conv2d(into, middle, 1, bias=False), nn.BatchNorm2d(middle), nn.ReLU(inplace=True),
            nn.Conv2d(middle, middle, 3, stride, 1, bias=False), nn.BatchNorm2d(middle), nn.ReLU(inplace=True),
            nn.Conv2d(middle, out, 1, bias=False), nn.BatchNorm2d(out))
        self.beside = nn.Identity() if stride == 1 and into == out else nn.Sequential(
            nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.path(x) + self.beside(x))


def resnet50(classes=1000):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    into = 64
    for middle, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for number in range(blocks):
            layers.append(Bottleneck(into, middle, stride if number == 0 else 1))
            into = middle * 4
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(into, classes))


def turned(x, start):
    """Positions as angles, which queries and keys are turned by."""
    half = x.shape[-1] // 2
    rate = 10000.0 ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    angle = torch.arange(start, start + x.shape[-2], device=x.device, dtype=torch.float32)[:, None] * rate
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * c - b * s, a * s + b * c), -1)


class Attention(nn.Module):
    def __init__(self, width, heads, shared_heads, turning, bias):
        super().__init__()
        self.heads, self.shared, self.size, self.turning = heads, shared_heads, width // heads, turning
        self.into = nn.Linear(width, (heads + 2 * shared_heads) * self.size, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x, past):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, -1, self.size).transpose(1, 2) for part in self.into(x).split(
            [self.heads * self.size, self.shared * self.size, self.shared * self.size], -1))
        start = past[0].shape[-2] if past else 0
        if self.turning:
            q, k = turned(q, start), turned(k, start)
        if past:
            k, v = torch.cat((past[0], k), -2), torch.cat((past[1], v), -2)
        times = self.heads // self.shared
        all_k, all_v = (k, v) if times == 1 else (k.repeat_interleave(times, 1), v.repeat_interleave(times, 1))
        y = F.scaled_dot_product_attention(q, all_k, all_v, is_causal=length > 1)
        return self.out(y.transpose(1, 2).reshape(batch, length, -1)), (k, v)


class RootMean(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype) * self.weight


class Gated(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        norm = RootMean if shape.gated else nn.LayerNorm
        self.first, self.second = norm(shape.width), norm(shape.width)
        self.attention = Attention(shape.width, shape.heads, shape.shared_heads, shape.gated, not shape.gated)
        self.inner = Gated(shape.width, shape.inner) if shape.gated else nn.Sequential(
            nn.Linear(shape.width, shape.inner), nn.GELU(approximate="tanh"), nn.Linear(shape.inner, shape.width))

    def forward(self, x, past):
        y, kept = self.attention(self.first(x), past)
        x = x + y
        return x + self.inner(self.second(x)), kept


class Shape:
    def __init__(self, layers, width, heads, shared_heads, inner, words, length, gated):
        self.layers, self.width, self.heads, self.shared_heads = layers, width, heads, shared_heads
        self.inner, self.words, self.length, self.gated = inner, words, length, gated


GPT2 = Shape(layers=12, width=768, heads=12, shared_heads=12, inner=3072, words=50257, length=1024, gated=False)
LLAMA = Shape(layers=16, width=2048, heads=32, shared_heads=8, inner=8192, words=32000, length=2048, gated=True)


class Language(nn.Module):
    """Words in, what comes next out; PASTS are keys and values of the words before, of each layer."""

    def __init__(self, shape):
        super().__init__()
        self.words = nn.Embedding(shape.words, shape.width)
        self.places = None if shape.gated else nn.Embedding(shape.length, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.last = (RootMean if shape.gated else nn.LayerNorm)(shape.width)
        self.out = nn.Linear(shape.width, shape.words, bias=False)
        self.out.weight = self.words.weight
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, words, pasts=None):
        start = pasts[0][0].shape[-2] if pasts else 0
        x = self.words(words)
        if self.places is not None:
            x = x + self.places(torch.arange(start, start + words.shape[1], device=words.device))
        kept = []
        for number, block in enumerate(self.blocks):
            x, one = block(x, pasts[number] if pasts else None)
            kept.append(one)
        return self.out(self.last(x)), kept
