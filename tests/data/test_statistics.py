import numpy as np
import pytest

from pocket.data.statistics import image_statistics, table_statistics


def test_images_by_channel():
    x = np.random.default_rng(0).integers(0, 256, (600, 5, 7, 3), dtype=np.uint8)
    mean, std = image_statistics(x)
    np.testing.assert_allclose(mean, (x / 255).mean(axis=(0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(std, (x / 255).std(axis=(0, 1, 2)), rtol=1e-12)


def test_bright_images_do_not_overflow():
    mean, std = image_statistics(np.full((2000, 64, 64, 1), 255, dtype=np.uint8))
    assert mean == [1.0]
    assert std == [1.0]  # nothing varies: divide by 1, not by 0


def test_table_by_feature_in_double_precision():
    x = np.array([[1e6 + 1, 5], [1e6 + 2, 5], [1e6 + 3, 5]], dtype=np.float32)
    mean, std = table_statistics(x)
    assert mean == [1e6 + 2, 5]
    assert std == pytest.approx([np.sqrt(2 / 3), 1.0], rel=1e-12)
