"""The three models in plain PyTorch: the reference that ten steps are compared with."""

import torch
from torch import nn
from torch.nn import functional


def scaled(width, *counts):
    return [max(1, round(count * width)) for count in counts]


class Mlp(nn.Module):
    def __init__(self, inputs, outputs, width):
        super().__init__()
        first, second = scaled(width, 128, 64)
        self.fc1, self.fc2, self.fc3 = nn.Linear(inputs, first), nn.Linear(first, second), nn.Linear(second, outputs)

    def forward(self, x):
        return self.fc3(self.fc2(self.fc1(x.flatten(1)).relu()).relu())


class SimpleCnn(nn.Module):
    def __init__(self, height, channels, outputs, width):
        super().__init__()
        a, b, c, hidden = scaled(width, 32, 64, 128, 128)
        self.conv1, self.norm1 = nn.Conv2d(channels, a, 3, padding=1), nn.BatchNorm2d(a)
        self.conv2, self.norm2 = nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b)
        self.conv3, self.norm3 = nn.Conv2d(b, c, 3, padding=1), nn.BatchNorm2d(c)
        side = height // 2 // 2 // 2
        self.fc1, self.fc2 = nn.Linear(c * side * side, hidden), nn.Linear(hidden, outputs)

    def forward(self, x):
        for conv, norm in ((self.conv1, self.norm1), (self.conv2, self.norm2), (self.conv3, self.norm3)):
            x = functional.max_pool2d(norm(conv(x)).relu(), 2)
        return self.fc2(self.fc1(x.flatten(1)).relu())


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(outputs), nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        out = self.norm1(x).relu()
        past = self.shortcut(out) if hasattr(self, "shortcut") else x
        return past + self.conv2(self.norm2(self.conv1(out)).relu())


class ResNet(nn.Module):
    def __init__(self, channels, outputs, width):
        super().__init__()
        (first,), widths = scaled(width, 64), scaled(width, 64, 128, 256)
        self.stem = nn.Conv2d(channels, first, 3, padding=1, bias=False)
        self.stages, before = nn.ModuleList(), first
        for number, (wide, blocks) in enumerate(zip(widths, (3, 4, 3), strict=True)):
            strides = [2 if number and not index else 1 for index in range(blocks)]
            self.stages.append(
                nn.Sequential(*(Block(before if i == 0 else wide, wide, stride) for i, stride in enumerate(strides)))
            )
            before = wide
        self.norm, self.fc = nn.BatchNorm2d(before), nn.Linear(before, outputs)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.fc(self.norm(x).relu().mean((2, 3)))


def net(model, input_shape, outputs, width, weights, dtype=torch.float64):
    """The model, loaded with weights in PyTorch's names, strictly."""
    height, channels = (input_shape[0], input_shape[-1]) if len(input_shape) == 3 else (0, 0)
    inputs = int(torch.tensor(input_shape).prod())
    make = {
        "mlp": lambda: Mlp(inputs, outputs, width),
        "simple_cnn": lambda: SimpleCnn(height, channels, outputs, width),
        "resnet": lambda: ResNet(channels, outputs, width),
    }
    made = make[model]()
    made.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in weights.items()})
    return made.to(dtype)
