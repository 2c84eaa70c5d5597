import numpy as np

from pocket.data import tabular


def test_shapes_and_repeats():
    raw = tabular.read()
    assert raw.task == "regression"
    assert raw.train.x.shape == (8000, 20)
    assert raw.test.x.shape == (2000, 20)
    assert raw.train.y.shape == (8000, 1)
    assert raw.train.x.dtype == raw.train.y.dtype == np.float32
    np.testing.assert_array_equal(tabular.read().train.x, raw.train.x)


def test_a_line_explains_some_of_it_and_the_formula_all_but_the_noise():
    raw = tabular.read()
    x = (raw.train.x - raw.train.x.mean(axis=0)) / raw.train.x.std(axis=0)
    y = raw.train.y[:, 0]
    design = np.column_stack([x, np.ones(len(x))])
    line = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    linear_r2 = 1 - np.var(y - line) / np.var(y)
    formula_r2 = 1 - np.var(y - tabular.target(x)) / np.var(y)
    assert 0.2 < linear_r2 < 0.8  # a network has something to add
    assert 0.985 < formula_r2 < 1
