"""Fashion-MNIST: 60,000 + 10,000 grey pictures of clothes, 28 x 28 pixels, 10 classes (Xiao, Rasul, Vollgraf 2017).

Looked for in POCKET_DATA, then where Debian's package `dataset-fashion-mnist` puts it, then downloaded.
"""

import hashlib
from pathlib import Path

import numpy as np

from pocket.data import idx, local_file
from pocket.data.download import fetch
from pocket.data.raw import Raw, Split
from pocket.mistake import Mistake

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
MIRRORS = (
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
)
# file -> SHA-256 of the published .gz, its size in bytes, SHA-256 of the content (Debian packs the same content anew)
FILES = {
    "train-images-idx3-ubyte": (
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        26_421_880,
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    ),
    "train-labels-idx1-ubyte": (
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        29_515,
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    ),
    "t10k-images-idx3-ubyte": (
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        4_422_102,
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    ),
    "t10k-labels-idx1-ubyte": (
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        5_148,
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
}
CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)


def read(downloads: Path) -> Raw:
    """uint8 N 28 28 1 and int64 N. Mistake, naming the file, when one is missing or not what was published."""
    return Raw(
        train=_split("train", downloads),
        test=_split("t10k", downloads),
        task="classification",
        source="Fashion-MNIST, MIT licence, Zalando SE",
        class_names=CLASSES,
    )


def _split(part: str, downloads: Path) -> Split:
    images = _array(f"{part}-images-idx3-ubyte", 3, downloads)
    labels = _array(f"{part}-labels-idx1-ubyte", 1, downloads)
    return Split(*idx.pair(images, labels, f"Fashion-MNIST {part}"))


def _array(name: str, dimensions: int, downloads: Path) -> np.ndarray:
    packed_checksum, packed_size, content_checksum = FILES[name]
    packed = f"{name}.gz"
    path = local_file.find([packed, name], ["fashion-mnist", "fashion_mnist", "FashionMNIST/raw"], [DEBIAN, downloads])
    if path is None:
        path = downloads / packed
        fetch([mirror + packed for mirror in MIRRORS], packed_checksum, packed_size, path)
    content = idx.unpacked(path)
    array = idx.parse(content, str(path), dimensions)  # first, since it can say what is wrong with a damaged file
    if hashlib.sha256(content).hexdigest() != content_checksum:
        raise Mistake(f"{path}: not the published file (its checksum is another); replace it or delete it")
    return array
