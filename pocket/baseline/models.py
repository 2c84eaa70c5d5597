"""The three networks in PyTorch. Inputs are normalised images N C H W, or table rows N F; outputs are N x outputs.

An activation overwrites what it is given (`inplace`): BatchNorm and convolution keep their inputs for backward, not
their outputs, so this is safe and saves a map.
"""

from collections.abc import Callable, Sequence

import torch.nn.functional as F
from torch import Tensor, nn


def scaled(channels: int, width: float) -> int:
    """width * channels, rounded, at least 1."""
    return max(1, round(channels * width))


class MLP(nn.Module):
    """Three fully connected layers, 128 and 64 wide, ReLU between. Images are flattened in the order C H W."""

    def __init__(self, input_shape: Sequence[int], outputs: int, width: float = 1.0) -> None:
        super().__init__()
        features = 1
        for size in input_shape:
            features *= size
        hidden1, hidden2 = scaled(128, width), scaled(64, width)
        self.fc1 = nn.Linear(features, hidden1)
        self.fc2 = nn.Linear(hidden1, hidden2)
        self.fc3 = nn.Linear(hidden2, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """N C H W or N F -> N outputs."""
        x = F.relu(self.fc1(x.flatten(1)), inplace=True)
        x = F.relu(self.fc2(x), inplace=True)
        return self.fc3(x)


class SimpleCNN(nn.Module):
    """Three times convolution 3x3, BatchNorm, ReLU, 2x2 max pooling (32, 64, 128 channels); then 128 hidden units."""

    def __init__(self, input_shape: Sequence[int], outputs: int, width: float = 1.0) -> None:
        super().__init__()
        height, wide, colours = input_shape
        if height < 8 or wide < 8:
            raise ValueError(f"simple_cnn halves its input three times: got {height} x {wide}, wanted 8 x 8 or more")
        c1, c2, c3, hidden = (scaled(channels, width) for channels in (32, 64, 128, 128))
        self.conv1, self.norm1 = nn.Conv2d(colours, c1, 3, padding=1), nn.BatchNorm2d(c1)
        self.conv2, self.norm2 = nn.Conv2d(c1, c2, 3, padding=1), nn.BatchNorm2d(c2)
        self.conv3, self.norm3 = nn.Conv2d(c2, c3, 3, padding=1), nn.BatchNorm2d(c3)
        self.fc1 = nn.Linear(c3 * (height // 8) * (wide // 8), hidden)
        self.fc2 = nn.Linear(hidden, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """N C H W -> N outputs."""
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x)), inplace=True), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x)), inplace=True), 2)
        x = F.max_pool2d(F.relu(self.norm3(self.conv3(x)), inplace=True), 2)
        x = F.relu(self.fc1(x.flatten(1)), inplace=True)
        return self.fc2(x)


class PreActivationBlock(nn.Module):
    """y = conv2(relu(norm2(conv1(out)))) + shortcut, where out = relu(norm1(x)) (He et al. 2016b, figure 1b).

    The shortcut is x itself, or a 1x1 convolution of `out` where channels or size change.
    """

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels_in)
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride=stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.shortcut: nn.Conv2d | None = None
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Conv2d(channels_in, channels, 1, stride=stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """N C H W -> N channels H/stride W/stride."""
        out = F.relu(self.norm1(x), inplace=True)
        kept = x if self.shortcut is None else self.shortcut(out)
        y = F.relu(self.norm2(self.conv1(out)), inplace=True)
        return self.conv2(y) + kept


class ResNet(nn.Module):
    """Pre-activation residual network: a 3x3 stem of 64 channels, then 3, 4, 3 blocks of 64, 128, 256 channels."""

    def __init__(self, input_shape: Sequence[int], outputs: int, width: float = 1.0) -> None:
        super().__init__()
        channels = scaled(64, width)
        self.stem = nn.Conv2d(input_shape[2], channels, 3, padding=1, bias=False)
        stages = []
        for number, (blocks, full_width) in enumerate([(3, 64), (4, 128), (3, 256)]):
            stage = []
            for block in range(blocks):
                stride = 2 if number > 0 and block == 0 else 1
                stage.append(PreActivationBlock(channels, scaled(full_width, width), stride))
                channels = scaled(full_width, width)
            stages.append(nn.Sequential(*stage))
        self.stages = nn.Sequential(*stages)
        self.norm = nn.BatchNorm2d(channels)
        self.fc = nn.Linear(channels, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """N C H W -> N outputs."""
        x = self.stages(self.stem(x))
        x = F.relu(self.norm(x), inplace=True)
        return self.fc(x.mean(dim=(2, 3)))


MODELS: dict[str, Callable[[Sequence[int], int, float], nn.Module]] = {
    "mlp": MLP,
    "simple_cnn": SimpleCNN,
    "resnet": ResNet,
}


def model(name: str, input_shape: Sequence[int], outputs: int, width: float = 1.0) -> nn.Module:
    """The network called `name`. input_shape: (H, W, C) of an image or (F,) of a table row. ValueError when unknown."""
    if name not in MODELS:
        raise ValueError(f"model {name!r} is not known; wanted one of {', '.join(MODELS)}")
    if name != "mlp" and len(input_shape) != 3:
        raise ValueError(f"model {name!r} needs images, got rows of {input_shape[0]} features; set model: mlp")
    return MODELS[name](input_shape, outputs, width)
