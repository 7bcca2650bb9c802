"""A small ResNet trained by PyTorch on the CPU, for tools/bench to time.

The network of models/resnet-mini. Run by torch.distributed.run, one process a
rank; prints what timing.py says. Random images, AdamW, float32.
"""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy, relu

import timing


class Block(nn.Module):

    def __init__(self, channels, features, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, features, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(features)
        self.conv2 = nn.Conv2d(features, features, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(features)
        self.down = nn.Identity() if stride == 1 else nn.Sequential(
            nn.Conv2d(channels, features, 1, stride, bias=False),
            nn.BatchNorm2d(features))

    def forward(self, x):
        y = self.bn2(self.conv2(relu(self.bn1(self.conv1(x)))))
        return relu(y + self.down(x))


class ResNetMini(nn.Module):

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = Block(16, 16, 1)
        self.layer2 = Block(16, 32, 2)
        self.fc = nn.Linear(32, 10)

    def forward(self, x, labels):
        x = self.pool(relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x)).mean((2, 3))
        return cross_entropy(self.fc(x), labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["ddp"], required=True)
    arguments = timing.options(parser)
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(
        ResNetMini(), gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(generator):
        images = torch.randn((arguments.batch, 1, 16, 16), generator=generator)
        labels = torch.randint(0, 10, (arguments.batch,), generator=generator)
        loss = model(images, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    timing.measure(arguments, step)


main()
