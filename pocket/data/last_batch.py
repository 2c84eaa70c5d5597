"""What happens to the samples that do not fill a batch, said before the run."""

from pocket.mistake import Mistake


def samples_used(samples: int, batch_size: int, last_batch: str) -> int:
    """Samples of one epoch: all with "keep", whole batches with "drop". Mistake when that leaves none."""
    if last_batch not in ("keep", "drop"):
        raise Mistake(f"last_batch is {last_batch!r}, wanted keep or drop")
    if last_batch == "keep":
        return samples
    if samples < batch_size:
        raise Mistake(
            f"batch_size {batch_size} is more than the {samples} training samples, and last_batch: drop leaves none; "
            f"lower batch_size or set last_batch: keep"
        )
    return samples - samples % batch_size


def smallest_map(model: str, input_shape: tuple[int, ...]) -> int | None:
    """Positions of one sample that a BatchNorm of `model` averages over, at its smallest map; None without BatchNorm.

    simple_cnn normalises last after two poolings: floor(H / 4) * floor(W / 4). resnet after two strides of 2:
    ceil(H / 4) * ceil(W / 4).
    """
    if model == "mlp" or len(input_shape) != 3:
        return None
    height, width, _ = input_shape
    if model == "simple_cnn":
        return (height // 4) * (width // 4)
    return -(-height // 4) * -(-width // 4)


def describe_last_batch(
    samples: int, batch_size: int, accumulation_steps: int, last_batch: str, smallest_map: int | None
) -> str:
    """One sentence: what becomes of the last samples of an epoch.

    smallest_map: see the function of that name. Mistake when a micro-batch of one sample would reach a BatchNorm with
    one value a channel, which has no variance.
    """
    used = samples_used(samples, batch_size, last_batch)
    rest = samples % batch_size
    micro = batch_size // accumulation_steps
    last = (rest % micro or micro) if rest and last_batch == "keep" else micro
    if last == 1 and smallest_map == 1:
        cure = "set last_batch: drop" if micro > 1 else "use larger micro-batches"
        raise Mistake(
            f"{samples} samples in batches of {batch_size} (micro-batches of {micro}) end with a single sample, whose "
            f"BatchNorm sees one value a channel and fails; {cure} or raise the resolution"
        )
    if not rest:
        return f"{samples} samples fill {samples // batch_size} batches of {batch_size} exactly"
    if last_batch == "drop":
        return f"each epoch leaves out {samples - used} of {samples} samples, which do not fill a batch of {batch_size}"
    return (
        f"the last batch of each epoch has {rest} of {batch_size} samples, and its loss is the mean over those {rest}"
    )
