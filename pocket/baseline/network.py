"""A run's network with its initial weights, and how a host batch becomes its input."""

import numpy as np
import torch
from torch import Tensor, nn

from pocket.baseline.device import dtype, memory_format
from pocket.baseline.models import model
from pocket.contract import Job


def initial_network(job: Job, device: torch.device) -> nn.Module:
    """The model of `job.settings` holding copies of `job.weights`, on `device`. RuntimeError when they do not fit."""
    settings = job.settings
    network = model(settings["model"], job.input_shape, job.outputs, settings.get("width", 1.0))
    network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in job.weights.items()})
    network = network.to(device, dtype(settings))
    if len(job.input_shape) == 3:
        network = network.to(memory_format=memory_format(settings))
    return network


class Input:
    """Host arrays in, network inputs out: sent as they are, normalised where they arrive."""

    def __init__(self, job: Job, device: torch.device) -> None:
        self.device = device
        self.dtype = dtype(job.settings)
        self.format = memory_format(job.settings)
        self.images = len(job.input_shape) == 3
        mean, std = np.asarray(job.input_mean, np.float64), np.asarray(job.input_std, np.float64)
        if self.images:  # for a whole row of pixels: three numbers in the innermost axis are too few for a vector
            mean, std = np.tile(255 * mean, job.input_shape[1]), np.tile(255 * std, job.input_shape[1])
        self.shift = torch.from_numpy(mean).to(device, self.dtype)
        self.scale = torch.from_numpy(1 / std).to(device, self.dtype)

    def send(self, x: np.ndarray) -> Tensor:
        """A host array on the device, unchanged. A read-only array (of a mapped file) is copied first."""
        return torch.from_numpy(x if x.flags.writeable else x.copy()).to(self.device)

    def normalise(self, x: Tensor) -> Tensor:
        """(pixels / 255 - mean) / std, uint8 N H W C -> N C H W; or (rows - mean) / std; never in uint8.

        Pixels as (pixels - 255 mean) * (1 / (255 std)), in two passes over the rows N H (W C) as they lie.
        """
        if not self.images:
            return x.to(self.dtype).sub(self.shift).mul_(self.scale)
        rows = x.reshape(*x.shape[:2], -1).to(self.dtype).sub_(self.shift).mul_(self.scale)
        pixels = rows.view(x.shape).permute(0, 3, 1, 2)
        if self.format == torch.channels_last:
            return pixels
        # not contiguous(): one channel satisfies both formats as it lies, and convolutions read theirs off the strides
        return pixels.clone(memory_format=self.format)
