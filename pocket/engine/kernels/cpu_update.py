"""One pass over a parameter and its optimizer state. Every array is flat and of one type, and so is every scalar."""

import numpy as np

from pocket.engine.kernels.compile import compiled


@compiled
def sgd(p, g, learning_rate, scale, weight_decay):
    """p -= learning_rate (scale g + weight_decay p)."""
    for i in range(p.size):
        p[i] -= learning_rate * (scale * g[i] + weight_decay * p[i])


@compiled
def sgd_momentum(p, g, b, learning_rate, scale, weight_decay, momentum, fresh, nesterov):
    """d = scale g + weight_decay p; b = momentum b + fresh d; p -= learning_rate (d + momentum b if nesterov else b)."""
    for i in range(p.size):
        d = scale * g[i] + weight_decay * p[i]
        b[i] = momentum * b[i] + fresh * d
        p[i] -= learning_rate * (d + momentum * b[i] if nesterov else b[i])


@compiled
def adam(p, g, m, v, scale, l2, shrink, step_size, root_correction, beta1, rest1, beta2, rest2, epsilon):
    """Adam's moments and step; rest1 = 1 - beta1, step_size = learning_rate / (1 - beta1^t), shrink is AdamW's decay."""
    for i in range(p.size):
        d = scale * g[i] + l2 * p[i]
        m[i] = beta1 * m[i] + rest1 * d
        v[i] = beta2 * v[i] + rest2 * d * d
        p[i] = shrink * p[i] - step_size * m[i] / (np.sqrt(v[i]) / root_correction + epsilon)
