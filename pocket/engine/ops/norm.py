"""Batch normalisation, and the standardisation of a net's inputs."""

from dataclasses import dataclass

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import of
from pocket.engine.operator import Parameterless

NO_FLOOR = -float("inf")


@dataclass(frozen=True)
class BatchNorm:
    """y = xhat gamma + beta, xhat = (x - mean) rstd, rstd = 1 / sqrt(var + epsilon), by channel (the last axis).

    x (N, C) or (N, H, W, C) -> y (the same); weight gamma (C,), bias beta (C,).
    Training takes mean and biased variance of the batch, and moves running_mean and running_var (unbiased) towards
    them by `momentum` (None: the plain average over batches). Evaluation uses the running ones. An empty batch moves
    nothing.
    dx = gamma rstd (dy - mean(dy) - xhat mean(dy xhat)), dgamma += sum dy xhat, dbeta += sum dy.
    Saves x, mean and rstd. Raises ValueError for one value a channel in training. Ioffe & Szegedy 2015.
    """

    channels: int
    epsilon: float = 1e-5
    momentum: float | None = 0.1

    def parameter_shapes(self):
        return {"weight": (self.channels,), "bias": (self.channels,)}

    def state_shapes(self):
        return {"running_mean": (self.channels,), "running_var": (self.channels,), "num_batches_tracked": ()}

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        x2, kernels = rows_of(x), of(x)
        if training and len(x2):
            mean, var = kernels.moments(x2)
            count_batch(len(x2), self, mean, var, state)
        else:
            mean, var = state["running_mean"], state["running_var"]
        rstd = 1 / np.sqrt(np.asarray(var, np.float64) + self.epsilon)
        scale, shift = scale_and_shift(mean, rstd, parameters["weight"], parameters["bias"])
        y = memory.empty(x.shape, x.dtype)
        kernels.scale_shift(x2, scale, shift, NO_FLOOR, y.reshape(x2.shape))
        return y, (x, mean.copy(), rstd, training)

    def backward(self, dy, saved, parameters, gradients):
        x, mean, rstd, training = saved
        x2, dy2, kernels = rows_of(x), rows_of(dy), of(x)
        scale, shift = scale_and_shift(mean, rstd, parameters["weight"], parameters["bias"])
        sums = kernels.gradient_sums(x2, dy2, scale, shift, mean.astype(x.dtype), NO_FLOOR)
        slope, offset = add_and_spread(sums, mean, rstd, parameters, gradients, len(x2) if training else 0)
        # forward was y = x scale + shift, where scale and shift came from x: `slope` and `offset` carry that part
        kernels.input_gradient(x2, dy2, scale, shift, slope, offset, NO_FLOOR)
        return (dy2.reshape(x.shape),)


def rows_of(x):
    """x (..., C) as contiguous rows (N, C)."""
    x = of(x).contiguous(x)
    return x.reshape(x.size // max(1, x.shape[-1]), x.shape[-1])


def count_batch(count: int, norm, mean, var, state) -> None:
    """Moves the running statistics towards a batch of `count` values a channel. Raises before it changes anything."""
    if count == 1:
        raise ValueError(
            f"{type(norm).__name__} got 1 value a channel in training; wanted at least 2, since its variance is 0 by "
            "necessity; use a larger batch_size, or last_batch: drop"
        )
    state["num_batches_tracked"] += 1
    rate = norm.momentum if norm.momentum is not None else 1 / float(state["num_batches_tracked"])
    for name, batch in (("running_mean", mean), ("running_var", var * (count / (count - 1)))):
        state[name][...] = (1 - rate) * state[name] + rate * batch


def scale_and_shift(mean, rstd, gamma, beta):
    """xhat gamma + beta as x scale + shift, in gamma's type."""
    scale = gamma * rstd
    shift = beta - mean * scale
    return scale.astype(gamma.dtype), shift.astype(gamma.dtype)


def add_and_spread(sums, mean, rstd, parameters, gradients, count: int, names=("weight", "bias")):
    """Adds dgamma and dbeta, from sums = (sum dz, sum dz (x - mean)); returns slope and offset of the input gradient

    scale dz - slope x - offset = gamma rstd (dz - sum dz / count - xhat sum(dz xhat) / count). Count 0: constants.
    """
    sum_dz, sum_dz_x = sums
    gamma = parameters[names[0]]
    dgamma = sum_dz_x * rstd
    gradients[names[0]] += dgamma.astype(gamma.dtype)
    gradients[names[1]] += sum_dz.astype(gamma.dtype)
    share = gamma * rstd / count if count else 0 * rstd
    slope = share * dgamma * rstd
    offset = share * sum_dz - slope * mean
    return slope.astype(gamma.dtype), offset.astype(gamma.dtype)


@dataclass(frozen=True)
class Standardise(Parameterless):
    """y = (x / divisor - mean) / std by channel or feature (the last axis), in `dtype`. The first operator of a step.

    x (N, ..., C) of any type, uint8 pixels with divisor 255 -> y. No gradient: it is the input. Saves nothing.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    divisor: float
    dtype: str = "float32"

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        y = memory.empty(x.shape, self.dtype, "input")
        np.copyto(y, x, casting="unsafe")
        # by whole image rows: three channels at a time would be mostly loop
        pixels = x.shape[2] if x.ndim == 4 else 1
        width = pixels * len(self.mean)
        rows = y.reshape(y.size // width, width)
        np.divide(rows, y.dtype.type(self.divisor), out=rows)
        np.subtract(rows, np.tile(np.asarray(self.mean, y.dtype), pixels), out=rows)
        np.divide(rows, np.tile(np.asarray(self.std, y.dtype), pixels), out=rows)
        return y, ()

    def backward(self, dy, saved, parameters, gradients):
        return (None,)
