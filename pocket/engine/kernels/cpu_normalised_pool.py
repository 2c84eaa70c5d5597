"""2x2 maxima of relu(y scale + shift), of which no part but the maxima is ever stored.

Backward finds each maximum again: four multiplications cost less than reading where it was. Odd last rows and columns
of y are in no window.
"""

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import threads
from pocket.engine.kernels.compile import compiled


def normalised_pool(y, scale, shift) -> np.ndarray:
    """p (N, H // 2, W // 2, C): the maxima over 2x2 windows of relu(y scale + shift)."""
    N, H, W, C = y.shape
    p = memory.empty((N, H // 2, W // 2, C), y.dtype)
    threads.over(N, lambda i, j, t: normalised_pool_images(y[i:j], scale, shift, p[i:j]))
    return p


@compiled
def normalised_pool_images(y, scale, shift, p):
    """A nan among the four stays one, as in PyTorch."""
    zero = y.dtype.type(0)
    for n in range(p.shape[0]):
        for i in range(p.shape[1]):
            for j in range(p.shape[2]):
                a, b = y[n, 2 * i, 2 * j], y[n, 2 * i, 2 * j + 1]
                c, d = y[n, 2 * i + 1, 2 * j], y[n, 2 * i + 1, 2 * j + 1]
                out = p[n, i, j]
                for k in range(out.size):
                    m = a[k] * scale[k] + shift[k]
                    z = b[k] * scale[k] + shift[k]
                    m = z if z > m or z != z else m
                    z = c[k] * scale[k] + shift[k]
                    m = z if z > m or z != z else m
                    z = d[k] * scale[k] + shift[k]
                    m = z if z > m or z != z else m
                    out[k] = zero if m <= zero else m


def normalised_pool_sums(y, dp, scale, shift, mean) -> tuple[np.ndarray, np.ndarray]:
    """Sums of dz and of dz (y - mean) by channel, in float64; dz is dp at each positive first maximum, else 0."""
    T, C = threads.count(), y.shape[3]
    sums, room = memory.zeros((T, 2, C), np.float64), memory.empty((T, 2, C), y.dtype)
    threads.over(
        len(y), lambda i, j, t: normalised_pool_sums_images(y[i:j], dp[i:j], scale, shift, mean, room[t], sums[t])
    )
    return sums[:, 0].sum(0), sums[:, 1].sum(0)


@compiled
def normalised_pool_sums_images(y, dp, scale, shift, mean, room, sums):
    """Adds row by row of dp in y's own type, then in float64."""
    zero = y.dtype.type(0)
    first, second = room[0], room[1]
    for n in range(dp.shape[0]):
        for i in range(dp.shape[1]):
            room[:] = 0
            for j in range(dp.shape[2]):
                a, b = y[n, 2 * i, 2 * j], y[n, 2 * i, 2 * j + 1]
                c, d = y[n, 2 * i + 1, 2 * j], y[n, 2 * i + 1, 2 * j + 1]
                g = dp[n, i, j]
                for k in range(g.size):
                    m, at = a[k] * scale[k] + shift[k], a[k]
                    z = b[k] * scale[k] + shift[k]
                    m, at = (z, b[k]) if z > m else (m, at)
                    z = c[k] * scale[k] + shift[k]
                    m, at = (z, c[k]) if z > m else (m, at)
                    z = d[k] * scale[k] + shift[k]
                    m, at = (z, d[k]) if z > m else (m, at)
                    dz = g[k] if m > zero else zero
                    first[k] += dz
                    second[k] += dz * (at - mean[k])
            for k in range(sums.shape[1]):
                sums[0, k] += first[k]
                sums[1, k] += second[k]


@compiled
def unpool_into(dp, y, scale, shift, slope, offset, padded, row, top, left, pitch):
    """Copies scale dz - slope y - offset of one image into the flat padded image; dz as in the sums."""
    H, W, C = y.shape
    zero = y.dtype.type(0)
    for i in range(H // 2):
        above = padded[(top + 2 * i) * row + left * pitch :]
        below = padded[(top + 2 * i + 1) * row + left * pitch :]
        for j in range(W // 2):
            a, b, c, d = y[2 * i, 2 * j], y[2 * i, 2 * j + 1], y[2 * i + 1, 2 * j], y[2 * i + 1, 2 * j + 1]
            to_a, to_b = above[2 * j * pitch :], above[(2 * j + 1) * pitch :]
            to_c, to_d = below[2 * j * pitch :], below[(2 * j + 1) * pitch :]
            g = dp[i, j]
            for k in range(C):
                za, zb = a[k] * scale[k] + shift[k], b[k] * scale[k] + shift[k]
                zc, zd = c[k] * scale[k] + shift[k], d[k] * scale[k] + shift[k]
                ab = zb if zb > za else za
                cd = zd if zd > zc else zc
                m = cd if cd > ab else ab
                dz = scale[k] * g[k] if m > zero else zero
                in_a, in_b, in_c = za == m, zb == m and za != m, zc == m and ab != m
                in_d = ab != m and zc != m
                to_a[k] = (dz if in_a else zero) - slope[k] * a[k] - offset[k]
                to_b[k] = (dz if in_b else zero) - slope[k] * b[k] - offset[k]
                to_c[k] = (dz if in_c else zero) - slope[k] * c[k] - offset[k]
                to_d[k] = (dz if in_d else zero) - slope[k] * d[k] - offset[k]
    for i in range(H):
        for j in range(0 if i >= H // 2 * 2 else W // 2 * 2, W):
            to = padded[(top + i) * row + (left + j) * pitch :]
            for k in range(C):
                to[k] = -slope[k] * y[i, j, k] - offset[k]
