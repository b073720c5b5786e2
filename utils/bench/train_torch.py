#!/usr/bin/env python3
"""PyTorch's side of compare.py --train: the same networks, written as its users write them, one eager step after the other.

usage: train_torch.py MODEL THREADS SECONDS        needs: torch; prints what onnx-aot-run --bench --json prints
"""
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


def mlp(*sizes):
    layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def lenet():
    return nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10))


class Block(nn.Module):
    """The basic block of ResNet-18."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.conv2, self.bn2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.down = nn.Identity() if stride == 1 else nn.Sequential(
            nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(y)) + self.down(x), inplace=True)


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for stage in range(4):
        for block in range(2):
            layers.append(Block(before, 64 << stage, 2 if stage and not block else 1))
            before = 64 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Layer(nn.Module):
    """A pre-norm decoder layer."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).split(width, -1)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, words=1000, length=64, width=256, layers=4, heads=8):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.Sequential(*[Layer(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.layers(x))).flatten(0, 1)


def main():
    name, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    begin = time.perf_counter()
    make, x, classes = {
        "mlp": (lambda: mlp(784, 128, 10), torch.randn(64, 784), 10),
        "mlp512": (lambda: mlp(784, 512, 512, 10), torch.randn(64, 784), 10),
        "lenet": (lenet, torch.randn(64, 1, 28, 28), 10),
        "resnet18": (resnet18, torch.randn(8, 3, 224, 224), 1000),
        "gpt_small": (Gpt, torch.randint(1000, (8, 64)), 1000),
    }[name]
    model = make()
    labels = torch.randint(classes, (512 if name == "gpt_small" else len(x),))
    sgd = name == "resnet18"
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9) if sgd else torch.optim.AdamW(model.parameters(), 1e-3)

    def step():
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        loss.item()
        return 1e3 * (time.perf_counter() - start)

    loaded = time.perf_counter()
    first, times, start = step(), [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < seconds:
        times.append(step())
    print(json.dumps({"load_ms": 1e3 * (loaded - begin), "first_run_ms": first, "median_ms": statistics.median(times),
                      "min_ms": min(times), "runs": len(times)}))


if __name__ == "__main__":
    main()
