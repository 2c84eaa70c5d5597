"""One pass over a parameter, its gradient and its optimizer state: flat arrays, all of one type, scalars too."""

from collections.abc import Callable

import numpy as np

from pocket.engine.kernels import threads
from pocket.engine.kernels.compile import compiled

SMALLEST_SHARE = 16384  # values; below that, handing work to another thread costs more than the work


def sgd(p, g, *scalars) -> None:
    """As sgd_pass, over all threads."""
    _spread(sgd_pass, (p, g), scalars)


def sgd_momentum(p, g, b, *scalars) -> None:
    """As sgd_momentum_pass, over all threads."""
    _spread(sgd_momentum_pass, (p, g, b), scalars)


def adam(p, g, m, v, *scalars) -> None:
    """As adam_pass, over all threads."""
    _spread(adam_pass, (p, g, m, v), scalars)


def _spread(one_pass: Callable, arrays: tuple, scalars: tuple) -> None:
    def share(first: int, last: int, thread: int) -> None:
        one_pass(*(array[first:last] for array in arrays), *scalars)

    threads.over(arrays[0].size, share, SMALLEST_SHARE)


@compiled
def sgd_pass(p, g, learning_rate, scale, weight_decay):
    """p -= learning_rate (scale g + weight_decay p)."""
    for i in range(p.size):
        p[i] -= learning_rate * (scale * g[i] + weight_decay * p[i])


@compiled
def sgd_momentum_pass(p, g, b, learning_rate, scale, weight_decay, momentum, fresh, nesterov):
    """d = scale g + weight_decay p; b = momentum b + fresh d; p -= learning_rate (b, or d + momentum b if nesterov)."""
    for i in range(p.size):
        d = scale * g[i] + weight_decay * p[i]
        b[i] = momentum * b[i] + fresh * d
        p[i] -= learning_rate * (d + momentum * b[i] if nesterov else b[i])


@compiled
def adam_pass(p, g, m, v, scale, l2, shrink, step_size, root_correction, beta1, rest1, beta2, rest2, epsilon):
    """Adam's moments and step: rest1 = 1 - beta1, step_size = learning_rate / (1 - beta1^t), shrink AdamW's decay."""
    for i in range(p.size):
        d = scale * g[i] + l2 * p[i]
        m[i] = beta1 * m[i] + rest1 * d
        v[i] = beta2 * v[i] + rest2 * d * d
        p[i] = shrink * p[i] - step_size * m[i] / (np.sqrt(v[i]) / root_correction + epsilon)
