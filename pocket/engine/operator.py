"""What an operator is: one frozen dataclass with a forward and, directly below it, its backward.

The fields are hyperparameters. Weights and running statistics live outside, in mappings that the caller holds, so one
operator can be run twice, checked numerically, or drawn in a table without ever being trained.
"""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

Array = Any  # numpy.ndarray on the host; on a card the same interface from its array library


@runtime_checkable
class Operator(Protocol):
    """A differentiable function of arrays.

    Ownership. `forward` never writes to its inputs. `backward` may overwrite `dy` and whatever its own forward
    allocated, since the tape sees to it that nobody else refers to them; never an input.

    A larger operator that saves less is a second operator, with a test that both agree.
    """

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights, in the layout this operator computes with."""

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of what forward updates in training and reads in evaluation (running statistics)."""

    def forward(
        self,
        inputs: tuple[Array, ...],
        parameters: Mapping[str, Array],
        state: Mapping[str, Array],
        rng: Any,
        training: bool,
    ) -> tuple[Array, tuple]:
        """The output, and the smallest thing that makes backward exact."""

    def backward(
        self,
        dy: Array,
        saved: tuple,
        parameters: Mapping[str, Array],
        gradients: Mapping[str, Array],
    ) -> tuple[Array | None, ...]:
        """The gradient of every input (None where not wanted); adds those of the parameters with `+=`."""


class Parameterless:
    """What an operator without weights and without statistics says about them."""

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """None."""
        return {}

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """None."""
        return {}


def check_channels(operator: Operator, x: Array, channels: int, images: bool = False) -> None:
    """ValueError unless the last axis of x is `channels` long, and x is (N, H, W, C) where it has to be images.

    Kernels take sizes from weights and read `x` by address: what does not fit has to be refused before.
    """
    if x.shape[-1] != channels or (images and x.ndim != 4):
        wanted = f"images (N, H, W, {channels})" if images else f"{channels} channels, the length of the last axis"
        raise ValueError(
            f"{type(operator).__name__} got an array {x.shape}; wanted {wanted}; change the layer or what comes before"
        )
