"""Micro-batches of one training run: the same for every trainer, drawn from seed and epoch alone."""

from collections.abc import Iterator, Sequence

import numpy as np

from pocket.contract import MicroBatch
from pocket.data import augment
from pocket.data.dataset import Dataset
from pocket.data.last_batch import samples_used
from pocket.mistake import Mistake

ORDER_STREAM = 0


class Batches:
    """`batches(epoch)` gives that epoch's micro-batches; epochs count from 0. Fits `Job.batches`.

    An epoch is one permutation of the training split, cut into groups of `batch_size` samples (one update each), each
    cut into `accumulation_steps` micro-batches. A last smaller group keeps its own size (last_batch="keep", its
    micro-batches as large as the others' except the last) or is left out ("drop"). Order, shifts, flips and squares
    are drawn for a place in the epoch: they do not change with the batch size or the number of micro-batches.

    augmentation: any of "crop", "flip", "cutout". A micro-batch is the only array made for it. Mistake when the
    micro-batches would differ in size, an augmentation does not fit, or no update would be left.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        accumulation_steps: int = 1,
        seed: int = 0,
        augmentation: Sequence[str] = (),
        last_batch: str = "keep",
    ) -> None:
        if batch_size < 1 or accumulation_steps < 1 or batch_size % accumulation_steps:
            raise Mistake(
                f"batch_size {batch_size} cannot be cut into accumulation_steps {accumulation_steps} equal parts; "
                f"choose numbers of which the first is a multiple of the second"
            )
        self.x, self.y = dataset.x_train, dataset.y_train
        self.images = self.x.dtype == np.uint8
        augment.check_names(augmentation, self.images)
        self.batch_size = batch_size
        self.micro_batch_size = batch_size // accumulation_steps
        self.seed = seed
        self.augmentation = tuple(augmentation)
        self.samples = samples_used(len(self.x), batch_size, last_batch)
        self.updates_per_epoch = -(-self.samples // batch_size)
        self.fill = np.rint(dataset.mean * 255).clip(0, 255).astype(np.uint8)

    def __call__(self, epoch: int) -> Iterator[MicroBatch]:
        order = np.random.default_rng([self.seed, epoch, ORDER_STREAM]).permutation(len(self.x))[: self.samples]
        draws = self._draws(epoch)
        for group in range(0, self.samples, self.batch_size):
            end = min(group + self.batch_size, self.samples)
            for start in range(group, end, self.micro_batch_size):
                stop = min(start + self.micro_batch_size, end)
                indices = order[start:stop]
                if draws is None:
                    x = self.x[indices]
                else:
                    x = augment.gather(self.x, indices, draws, start, self.fill)
                yield MicroBatch(x, self.y[indices], group_samples=end - group, ends_group=stop == end)

    def _draws(self, epoch: int) -> augment.Draws | None:
        if not self.augmentation:
            return None
        height, width = self.x.shape[1:3]
        return augment.draw(self.augmentation, len(self.x), height, width, self.seed, epoch)
