"""Optimizers: a rule for one parameter, and the Optimizer that applies it to all of them and counts micro-batches.

**Gradient accumulation has two spellings. Use one of them, never both.**

1. The printed loop, with a plain optimizer (`accumulation_steps=1`). YOU divide the loss by k, which here is the scale
   that backward starts from, and call `step()` and `zero_grad()` only after every k-th micro-batch:

       for number, (x, labels) in enumerate(batches, start=1):
           loss(x, labels).backward(1 / k)       # without 1 / k the learning rate is in effect k times larger
           if number % k == 0:
               optimizer.step()
               optimizer.zero_grad()

2. `accumulation_steps=k`. THE OPTIMIZER divides. Call `step()` after every micro-batch; it updates at the k-th.
   `zero_grad()` inside a group does nothing. `finish()` after the last micro-batch flushes a group of m < k, and
   divides by m:

       for x, labels in batches:
           loss(x, labels).backward()            # not divided
           optimizer.step()
           optimizer.zero_grad()
       optimizer.finish()

Mixed, they go wrong in silence. With `accumulation_steps=k`, 1 / k in the loss and `step()` after every micro-batch,
updates come at every k-th, with gradients k times too small. With `accumulation_steps=k`, 1 / k and `step()` only at
every k-th, updates come at every k * k-th: the gradient is a true mean, but of k times as many samples, k times as
rarely. Dividing nowhere makes the gradient the sum of k means, so that a learning rate that was fine diverges. Both
spellings take micro-batches of one size; where sizes differ, scale each loss by its share of the group's samples, as
`pocket.engine.train` does.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import of


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent: g += weight_decay p; b = momentum b + (1 - dampening) g; p -= learning_rate d.

    d is b, or g + momentum b with Nesterov's momentum, or g without momentum. The first update has b = g, undamped.
    The learning rate is not folded into b: after it changes, the whole step changes (PyTorch's convention).
    Sutskever et al. 2013, section 2.
    """

    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0

    def __post_init__(self):
        if self.nesterov and (self.momentum <= 0 or self.dampening != 0):
            raise ValueError(
                f"nesterov with momentum {self.momentum} and dampening {self.dampening}: Nesterov's momentum wants "
                "momentum above 0 and dampening 0; change them where the optimizer is made"
            )

    @property
    def buffers(self) -> tuple[str, ...]:
        return ("momentum_buffer",) if self.momentum else ()

    def update(self, p, g, state, learning_rate, scale, step):
        """Overwrite p and its state, flat arrays; g * scale is the gradient, `step` counts updates from 1."""
        own = p.dtype.type  # scalars of the parameter's own type: nothing is widened to float64 on the way
        if not self.momentum:
            of(p).sgd(p, g, own(learning_rate), own(scale), own(self.weight_decay))
            return
        fresh = 1.0 if step == 1 else 1.0 - self.dampening
        scalars = (learning_rate, scale, self.weight_decay, self.momentum, fresh)
        of(p).sgd_momentum(p, g, *state, *map(own, scalars), self.nesterov)


@dataclass(frozen=True)
class Adam:
    """m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= learning_rate mhat / (sqrt(vhat) + epsilon).

    mhat = m / (1 - b1^t) and vhat = v / (1 - b2^t), so epsilon is added after the correction. Weight decay is part of
    the gradient (L2): g += weight_decay p; or decoupled from it, before the step: p *= 1 - learning_rate weight_decay.
    Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019, algorithm 2.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    decoupled: bool = False

    buffers: ClassVar[tuple[str, ...]] = ("exp_avg", "exp_avg_sq")

    def update(self, p, g, state, learning_rate, scale, step):
        """As SGD.update."""
        l2 = 0.0 if self.decoupled else self.weight_decay
        shrink = 1.0 - learning_rate * self.weight_decay if self.decoupled else 1.0
        step_size, root_correction = learning_rate / (1.0 - self.beta1**step), sqrt(1.0 - self.beta2**step)
        rates = (self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, self.epsilon)
        of(p).adam(p, g, *state, *map(p.dtype.type, (scale, l2, shrink, step_size, root_correction, *rates)))


Rule = SGD | Adam


def adamw(beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, weight_decay: float = 0.01) -> Adam:
    """Adam with decoupled weight decay, and PyTorch's default for it."""
    return Adam(beta1, beta2, epsilon, weight_decay, decoupled=True)


class Optimizer:
    """Applies a rule to named parameters, in place, from gradient buffers that backward adds to.

    parameters      name -> C-contiguous float array; updated in place
    gradients       name -> array of the same shape and type, from the pool; hand it to backward
    learning_rate   may be set between updates; a schedule does
    updates         how many updates were made

    Buffers and state are of the parameter's type, whatever type the learning rate came as.
    """

    def __init__(
        self, parameters: Mapping[str, np.ndarray], rule: Rule, learning_rate: float, accumulation_steps: int = 1
    ):
        if accumulation_steps < 1 or accumulation_steps != int(accumulation_steps):
            raise ValueError(f"accumulation_steps is {accumulation_steps!r}; wanted a whole number of at least 1")
        for name, p in parameters.items():
            if not p.flags.c_contiguous or p.dtype.kind != "f":
                raise ValueError(f"parameter {name} is {p.dtype}, strides {p.strides}; wanted C-contiguous floats")
        self.parameters = dict(parameters)
        self.rule = rule
        self.learning_rate = learning_rate
        self.accumulation_steps = int(accumulation_steps)
        self.updates = 0
        self.gradients = {name: memory.zeros(p.shape, p.dtype, "gradients") for name, p in self.parameters.items()}
        self._state = {
            name: [memory.zeros(p.shape, p.dtype, "optimizer") for _ in rule.buffers] for name, p in parameters.items()
        }
        self._micro_batches = 0

    @property
    def learning_rate(self) -> float:
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: float) -> None:
        self._learning_rate = float(learning_rate)

    def step(self) -> bool:
        """Count one micro-batch; update at the accumulation_steps-th. True when the parameters moved."""
        self._micro_batches += 1
        if self._micro_batches < self.accumulation_steps:
            return False
        self._update()
        return True

    def finish(self) -> bool:
        """Update with a last group of m < accumulation_steps micro-batches, divided by m. True when there was one."""
        if self._micro_batches == 0:
            return False
        self._update()
        self.zero_grad()
        return True

    def zero_grad(self) -> None:
        """Set every gradient to 0; inside an unfinished group do nothing."""
        if self._micro_batches == 0:
            for g in self.gradients.values():
                g.fill(0)

    def _update(self) -> None:
        scale = 1.0 / self._micro_batches
        self._micro_batches = 0
        self.updates += 1
        for name, p in self.parameters.items():
            p, g, *state = (part.reshape(-1) for part in (p, self.gradients[name], *self._state[name]))
            self.rule.update(p, g, state, self.learning_rate, scale, self.updates)

    def state_dict(self) -> dict[str, Any]:
        """Everything an exact resume needs, as copies in plain NumPy arrays and numbers.

        With an unfinished group of micro-batches the gradients gathered so far are part of it.
        """
        gathered = self.gradients if self._micro_batches else {}
        return {
            "rule": type(self.rule).__name__,
            "rule_settings": asdict(self.rule),
            "learning_rate": self.learning_rate,
            "accumulation_steps": self.accumulation_steps,
            "updates": self.updates,
            "micro_batches": self._micro_batches,
            "gradients": {name: g.copy() for name, g in gathered.items()},
            "state": {name: [array.copy() for array in arrays] for name, arrays in self._state.items()},
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue where `state_dict` was taken.

        ValueError, before anything is changed, when it is of another rule, of other parameters or of other shapes.
        """
        own = (type(self.rule).__name__, asdict(self.rule), self.accumulation_steps)
        came = (saved["rule"], saved["rule_settings"], saved["accumulation_steps"])
        if came != own:
            raise ValueError(f"optimizer state is of {came}; wanted {own}; make the optimizer with the saved settings")
        gathered = saved["gradients"] if saved["micro_batches"] else self.parameters
        names = set(self.parameters)
        if unequal := sorted((set(saved["state"]) ^ names) | (set(gathered) ^ names)):
            raise ValueError(f"optimizer state and model differ in parameters {unequal}; load it into its own model")
        for name, p in self.parameters.items():
            shapes = [np.shape(array) for array in (*saved["state"][name], gathered[name])]
            wanted = [p.shape] * (len(self.rule.buffers) + 1)
            if shapes != wanted:
                raise ValueError(
                    f"optimizer state of {name} has shapes {shapes}; wanted {wanted}; load it into its own model"
                )
        self.learning_rate = saved["learning_rate"]
        self.updates = saved["updates"]
        self._micro_batches = saved["micro_batches"]
        for name, arrays in self._state.items():
            for array, kept in zip(arrays, saved["state"][name], strict=True):
                array[...] = kept
            self.gradients[name][...] = saved["gradients"].get(name, 0)


def optimizer(
    name: str,
    parameters: Mapping[str, np.ndarray],
    learning_rate: float,
    *,
    momentum: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    accumulation_steps: int = 1,
) -> Optimizer:
    """The optimizer of a run's settings: "sgd", "adam" or "adamw". Momentum concerns sgd alone."""
    rules: dict[str, Callable[[], Rule]] = {
        "sgd": lambda: SGD(momentum, dampening, nesterov, weight_decay),
        "adam": lambda: Adam(weight_decay=weight_decay),
        "adamw": lambda: adamw(weight_decay=weight_decay),
    }
    if name not in rules:
        raise ValueError(f"optimizer {name!r} is not known; wanted one of {', '.join(rules)}")
    return Optimizer(parameters, rules[name](), learning_rate, accumulation_steps)
