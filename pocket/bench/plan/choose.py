"""Which suite on which device, when nobody said: `gpu` where there is a GPU, else `quick`."""

from pocket.bench.machine import gpu
from pocket.bench.plan.document import SUITES
from pocket.bench.plan.nearest import unknown
from pocket.bench.plan.setting import DEVICES
from pocket.mistake import Mistake


def choose(suite: str = "auto", device: str = "auto", *, here: bool = False) -> tuple[str, str]:
    """The suite and the device to plan for. Raises Mistake for an unknown name and, if the runs are to be done `here`,
    for a GPU that is not there."""
    if suite not in ("auto", *SUITES):
        raise Mistake(unknown("suite", suite, ("auto", *SUITES), "--suite or suite="))
    if device not in ("auto", *DEVICES):
        raise Mistake(unknown("device", device, ("auto", *DEVICES), "--device or device="))
    if device == "auto" or here:
        device = gpu.device(device)
    if suite == "auto":
        suite = "gpu" if device == "cuda" else "quick"
    return suite, device
