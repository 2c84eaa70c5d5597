"""Convolution, twice: by patch matrices, which anyone can follow, and by register tiles, which is fast. They agree."""

from dataclasses import dataclass

from pocket.engine.kernels import of
from pocket.engine.operator import check_channels

Pair = int | tuple[int, int]


def pair(value: Pair) -> tuple[int, int]:
    """(value, value), or the pair itself."""
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))


def check_window(operator, kernel: Pair, stride: Pair = 1, padding: Pair = 0) -> None:
    """ValueError unless kernel and stride are at least 1 and padding at least 0; for constructors."""
    if min(*pair(kernel), *pair(stride)) < 1 or min(pair(padding)) < 0:
        raise ValueError(
            f"{type(operator).__name__} kernel {kernel}, stride {stride}, padding {padding}; wanted a kernel and a "
            "stride of at least 1 and a padding of at least 0"
        )


def _shapes(operator, groups: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "weight": (*pair(operator.kernel), operator.inputs // groups, operator.outputs)
    }
    return {**shapes, "bias": (operator.outputs,)} if operator.bias else shapes


def _check(operator, x) -> None:
    (kernel_h, kernel_w), (pad_h, pad_w) = pair(operator.kernel), pair(operator.padding)
    check_channels(operator, x, operator.inputs, images=True)
    if x.shape[1] + 2 * pad_h < kernel_h or x.shape[2] + 2 * pad_w < kernel_w:
        raise ValueError(
            f"{type(operator).__name__} got images (N, H, W, C) = {x.shape}; wanted at least {kernel_h} x {kernel_w} "
            f"pixels with padding {pad_h}, {pad_w}; change the layer or the resolution"
        )


@dataclass(frozen=True)
class Conv2d:
    """y[n,i,j,o] = b[o] + sum over u, v, c of x[n, i s + u - p, j s + v - p, c] W[u, v, c, o]: cross-correlation.

    x (N, H, W, inputs) -> y (N, Ho, Wo, outputs), Ho = floor((H + 2 p - kernel) / stride) + 1.
    weight (kernel, kernel, inputs / groups, outputs): group g of the outputs sees group g of the inputs.
    dW[u,v,c,o] += sum x dy, dx is dy spread over its windows, rows that the stride cut off get 0. Saves x.
    A strip's patch matrix and one BLAS product at a time (im2col: Chellapilla, Puri, Simard 2006).
    """

    inputs: int
    outputs: int
    kernel: Pair
    stride: Pair = 1
    padding: Pair = 0
    bias: bool = True
    groups: int = 1
    input_gradient: bool = True

    def __post_init__(self):
        check_window(self, self.kernel, self.stride, self.padding)
        if self.groups < 1 or self.inputs % self.groups or self.outputs % self.groups:
            raise ValueError(
                f"Conv2d {self.inputs} -> {self.outputs} channels; wanted multiples of groups {self.groups}, at least 1"
            )

    def parameter_shapes(self):
        return _shapes(self, self.groups)

    def state_shapes(self):
        return {}

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        _check(self, x)
        bias = parameters["bias"] if self.bias else None
        return of(x).patch_convolution(x, parameters["weight"], bias, pair(self.stride), pair(self.padding)), (x,)

    def backward(self, dy, saved, parameters, gradients):
        (x,) = saved
        w, dw = parameters["weight"], gradients["weight"]
        dy = of(dy).contiguous(dy)
        if self.bias:
            of(dy).add_channel_sums(dy, gradients["bias"])
        stride, padding = pair(self.stride), pair(self.padding)
        return (of(x).patch_convolution_gradient(x, dy, w, stride, padding, dw, self.input_gradient),)


@dataclass(frozen=True)
class TiledConv2d:
    """Conv2d with one group, on register tiles: no patch matrix, and the input gradient as one more convolution.

    Shapes, formula and what is saved are Conv2d's.
    """

    inputs: int
    outputs: int
    kernel: Pair
    stride: Pair = 1
    padding: Pair = 0
    bias: bool = True
    input_gradient: bool = True

    def __post_init__(self):
        check_window(self, self.kernel, self.stride, self.padding)

    def parameter_shapes(self):
        return _shapes(self, 1)

    def state_shapes(self):
        return {}

    def forward(self, inputs, parameters, state, rng, training):
        x = of(inputs[0]).contiguous(inputs[0])
        _check(self, x)
        w = of(x).contiguous(parameters["weight"])
        bias = parameters["bias"] if self.bias else None
        return of(x).convolve(x, w, bias, pair(self.stride), pair(self.padding))[0], (x,)

    def backward(self, dy, saved, parameters, gradients):
        (x,) = saved
        w, dy = of(x).contiguous(parameters["weight"]), of(x).contiguous(dy)
        if self.bias:
            of(dy).add_channel_sums(dy, gradients["bias"])
        stride, padding = pair(self.stride), pair(self.padding)
        return (of(x).convolve_gradient(x, dy, w, stride, padding, gradients["weight"], self.input_gradient),)
