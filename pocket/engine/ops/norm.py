"""Batch normalisation, and the standardisation of a net's inputs."""

from dataclasses import dataclass

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import of
from pocket.engine.operator import Parameterless, check_channels

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
        return norm_shapes(self.channels)[0]

    def state_shapes(self):
        return norm_shapes(self.channels)[1]

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        check_channels(self, x, self.channels)
        x2, kernels = rows_of(x), of(x)
        moments = kernels.moments(x2) if training else None
        mean, rstd = statistics(self, len(x2), moments, state)
        scale, shift = scale_and_shift(mean, rstd, parameters)
        y = memory.empty(x.shape, x.dtype)
        kernels.scale_shift(x2, scale, shift, NO_FLOOR, y.reshape(x2.shape))
        return y, (x, mean, rstd, training)

    def backward(self, dy, saved, parameters, gradients):
        x, mean, rstd, training = saved
        x2, dy2, kernels = rows_of(x), rows_of(dy), of(x)
        scale, shift = scale_and_shift(mean, rstd, parameters)
        sums = kernels.gradient_sums(x2, dy2, scale, shift, mean.astype(x.dtype), NO_FLOOR)
        slope, offset = add_and_spread(sums, mean, rstd, parameters, gradients, len(x2) if training else 0)
        # forward was y = x scale + shift, where scale and shift came from x: `slope` and `offset` carry that part
        kernels.input_gradient(x2, dy2, scale, shift, slope, offset, NO_FLOOR)
        return (dy2.reshape(x.shape),)


def rows_of(x):
    """x (..., C) as contiguous rows (N, C)."""
    x = of(x).contiguous(x)
    return x.reshape(x.size // max(1, x.shape[-1]), x.shape[-1])


def norm_shapes(channels: int, at: str = ""):
    """(parameters, statistics) of one normalisation: names, with `at` before each, and shapes."""
    state = {f"{at}running_mean": (channels,), f"{at}running_var": (channels,), f"{at}num_batches_tracked": ()}
    return {f"{at}weight": (channels,), f"{at}bias": (channels,)}, state


def check_count(norm, count: int) -> None:
    """ValueError for one value a channel in training."""
    if count == 1:
        raise ValueError(
            f"{type(norm).__name__} got 1 value a channel in training; wanted at least 2, since its variance is 0 by "
            "necessity; use a larger batch_size, or last_batch: drop"
        )


def statistics(norm, count: int, moments, state, at: str = ""):
    """(mean, rstd) of a batch of `count` values a channel from its moments (mean, variance), or the running ones.

    Moves the running statistics towards the batch's, by the momentum of `norm`; an error changes none of them.
    """
    mean, var = state[f"{at}running_mean"].copy(), state[f"{at}running_var"]
    if moments is not None and count:
        check_count(norm, count)
        mean, var = moments
        state[f"{at}num_batches_tracked"] += 1
        rate = norm.momentum if norm.momentum is not None else 1 / float(state[f"{at}num_batches_tracked"])
        for name, batch in ((f"{at}running_mean", mean), (f"{at}running_var", var * (count / (count - 1)))):
            state[name][...] = (1 - rate) * state[name] + rate * batch
    return mean, 1 / np.sqrt(np.asarray(var, np.float64) + norm.epsilon)


def scale_and_shift(mean, rstd, parameters, at: str = ""):
    """xhat gamma + beta as x scale + shift, in gamma's type."""
    gamma, beta = parameters[f"{at}weight"], parameters[f"{at}bias"]
    scale = gamma * rstd
    shift = beta - mean * scale
    return scale.astype(gamma.dtype), shift.astype(gamma.dtype)


def add_and_spread(sums, mean, rstd, parameters, gradients, count: int, at: str = ""):
    """Adds dgamma and dbeta, from sums = (sum dz, sum dz (x - mean)); returns slope and offset of the input gradient

    scale dz - slope x - offset = gamma rstd (dz - sum dz / count - xhat sum(dz xhat) / count). Count 0: constants.
    """
    sum_dz, sum_dz_x = sums
    gamma = parameters[f"{at}weight"]
    dgamma = sum_dz_x * rstd
    gradients[f"{at}weight"] += dgamma.astype(gamma.dtype)
    gradients[f"{at}bias"] += sum_dz.astype(gamma.dtype)
    share = gamma * rstd / count if count else 0.0
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

    def affine(self, pixels: int, dtype):
        """(scale, shift) of `dtype` with y = x scale + shift, each for a row of `pixels` pixels."""
        scale = 1 / (self.divisor * np.asarray(self.std))
        shift = -np.asarray(self.mean) / np.asarray(self.std)
        return np.tile(scale, pixels).astype(dtype), np.tile(shift, pixels).astype(dtype)

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        check_channels(self, x, len(self.mean))
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
