"""Tensor, and the tape that records operators and runs their backwards (A1, A11).

A tensor counts the backwards that still need it. Registering one increments `ref_count`, running it decrements; at zero
the storage is freed at once, so memory over a step is a sawtooth. What backward really needs is what the operator
saved, so a tensor that nobody holds and no operator saved goes already during forward.
"""

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from pocket.engine import memory
from pocket.engine.operator import Array, Operator

NOTHING: Mapping[str, Array] = {}


class Link:
    """A tensor's place in the tape: outlives the tensor itself, and holds the gradient that has arrived so far."""

    __slots__ = ("gradient", "ref_count", "tensor", "wanted")

    def __init__(self, tensor: "Tensor", wanted: bool):
        self.tensor, self.wanted = weakref.ref(tensor), wanted
        self.ref_count = 0
        self.gradient: Array | None = None

    def receive(self, gradient: Array) -> None:
        """Adds a gradient that this link may keep and overwrite."""
        if self.gradient is None:
            self.gradient = gradient
        else:
            np.add(self.gradient, gradient, out=self.gradient)

    def release(self) -> None:
        """One backward fewer; the last one frees the tensor's storage."""
        self.ref_count -= 1
        tensor = self.tensor()
        if self.ref_count == 0 and tensor is not None:
            tensor.data = None


class Tensor:
    """An array in a computation. `data` is None after the last backward that needed it.

    `gradient` arrives in a tensor made with `wants_gradient`; those between operators are consumed on their way.
    """

    __slots__ = ("__weakref__", "data", "link", "tape")

    def __init__(self, data: Array, wants_gradient: bool = False, tape: "Tape | None" = None):
        self.data, self.tape = data, tape
        self.link = Link(self, wants_gradient)

    @property
    def ref_count(self) -> int:
        """Backwards registered and not yet run that take this tensor as an input."""
        return self.link.ref_count

    @property
    def gradient(self) -> Array | None:
        """d loss / d this tensor, after backward."""
        return self.link.gradient

    def backward(self, scale: float = 1.0) -> None:
        """Runs the tape back from this tensor; the gradient starts from `scale`. Consumes the tape."""
        if self.tape is None:
            raise ValueError("backward of a tensor that no tape recorded; wanted the output of Tape.apply")
        self.tape.backward(self, scale)


class Observer(Protocol):
    """Watches backward pass by. What it is shown it may read, not keep: the storage is used again."""

    def before(self, node: "Node", incoming: Array) -> None:
        """The gradient of the node's output has arrived."""

    def after(self, node: "Node", outgoing: tuple[Array | None, ...]) -> None:
        """The gradients of its inputs are ready, those of its parameters added."""


@dataclass
class Node:
    """One operator that ran, and what its backward needs."""

    name: str
    operator: Operator
    inputs: tuple[Link, ...]
    output: Link
    saved: tuple
    parameters: Mapping[str, Array]
    gradients: Mapping[str, Array]


@dataclass
class Tape:
    """Records operators in the order they ran; `backward` runs them in reverse and forgets each one as it passes."""

    observers: list[Observer] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

    def apply(
        self,
        operator: Operator,
        inputs: tuple[Tensor, ...],
        parameters: Mapping[str, Array] = NOTHING,
        gradients: Mapping[str, Array] = NOTHING,
        state: Mapping[str, Array] = NOTHING,
        rng: Any = None,
        name: str = "",
    ) -> Tensor:
        """Runs forward in training mode. Registers a backward if an input or a parameter wants its gradient."""
        data, saved = operator.forward(tuple(x.data for x in inputs), parameters, state, rng, True)
        wanted = bool(gradients) or any(x.link.wanted for x in inputs)
        output = Tensor(data, wanted, self)
        if wanted:
            pool = memory.current()
            for array in saved:
                if isinstance(array, np.ndarray):
                    pool.assign(array, "saved")
            links = tuple(x.link for x in inputs)
            for link in links:
                link.ref_count += 1
            self.nodes.append(Node(name, operator, links, output.link, saved, parameters, gradients))
        return output

    def backward(self, output: Tensor, scale: float = 1.0) -> None:
        """Adds to every parameter gradient and leaves the gradients of leaves; the tape is empty afterwards."""
        if not output.link.wanted:
            raise ValueError(
                "backward of a tensor that depends on nothing with a gradient; wanted buffers for some: bind an "
                "optimizer's with Net.use_gradients, or make an input Tensor(..., wants_gradient=True)"
            )
        seed = memory.empty(output.data.shape, output.data.dtype)
        seed.fill(scale)
        output.link.gradient = seed
        del seed  # from here on, only its link and the operator that consumes it hold a gradient
        while self.nodes:
            self._run(self.nodes.pop())

    def _run(self, node: Node) -> None:
        if node.output.gradient is not None:
            for observer in self.observers:
                observer.before(node, node.output.gradient)
            outgoing = _call_backward(node)
            for observer in self.observers:
                observer.after(node, outgoing)
            _hand_out(node.inputs, outgoing)
        node.saved = ()
        for link in node.inputs:
            link.release()


def _call_backward(node: Node) -> tuple[Array | None, ...]:
    dy, node.output.gradient = node.output.gradient, None
    return node.operator.backward(dy, node.saved, node.parameters, node.gradients)


def _hand_out(links: tuple[Link, ...], outgoing: tuple[Array | None, ...]) -> None:
    given: list[Array] = []
    for link, dx in zip(links, outgoing, strict=True):
        if dx is None or not link.wanted:
            continue
        if link.gradient is None and any(np.may_share_memory(dx, other) for other in given):
            copy = memory.empty(dx.shape, dx.dtype)  # two owners of one gradient would overwrite each other
            np.copyto(copy, dx)
            dx = copy
        link.receive(dx)
        given.append(dx)
