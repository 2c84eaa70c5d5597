"""A generated table: 10,000 rows of 20 features and one smooth, nonlinear target with noise."""

import numpy as np

from pocket.data.raw import Raw, Split

SAMPLES = 10_000
TRAIN_SAMPLES = 8_000
FEATURES = 20
NOISE = 0.1
SEED = 20


def target(x: np.ndarray) -> np.ndarray:
    """sin(2 x0) + x1 x2 / 2 + exp(-x3^2) + tanh(x4 + x5) + a weighted sum of x6..x13; x14..x19 say nothing.

    x: N 20, standard normal columns. Returns N.
    """
    weights = np.linspace(0.4, -0.3, 8)
    curved = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + np.exp(-(x[:, 3] ** 2)) + np.tanh(x[:, 4] + x[:, 5])
    return curved + x[:, 6:14] @ weights


def read() -> Raw:
    """x: float32 N 20, columns of different mean and scale as real tables have; y: float32 N 1, noise of deviation
    0.1.
    """
    rng = np.random.default_rng(SEED)
    standard = rng.standard_normal((SAMPLES, FEATURES))
    noisy = target(standard) + NOISE * rng.standard_normal(SAMPLES)
    y = noisy.astype(np.float32)[:, None]
    scale = np.logspace(-1, 1, FEATURES)
    x = (standard * scale + np.linspace(-5, 5, FEATURES)).astype(np.float32)
    return Raw(
        train=Split(x[:TRAIN_SAMPLES], y[:TRAIN_SAMPLES]),
        test=Split(x[TRAIN_SAMPLES:], y[TRAIN_SAMPLES:]),
        task="regression",
        source=f"generated with seed {SEED}",
    )
