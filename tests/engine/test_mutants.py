"""The mutants themselves: every kind of change is made, one at a time, and takes effect."""

import numpy as np

from . import mutants


def sample(x, out):
    """Every place that a mutant can change."""
    out += 2 * x.T - x.sum(axis=1)
    np.add(out, x.max(0), out=out)
    if x.ndim > 2:
        raise ValueError(f"{x.ndim - 2} too many")
    return np.transpose(out, (1, 0))


def squared(x):
    return x * x


WANTED = [
    "`out += 2 * x.T - x.sum(axis=1)` assigned instead",
    "`out += 2 * x.T - x.sum(axis=1)` with the opposite sign",
    "`2 * x.T - x.sum(axis=1)` with the opposite sign",
    "`np.add(out, x.max(0), out=out)` with the opposite sign",
    "`np.add(out, x.max(0), out=out)` assigned instead",
    "`np.transpose(out, (1, 0))` left out",
    "`np.transpose(out, (1, 0))` with its last two axes exchanged",
    "`2 * x.T` without its second factor",
    "`2 * x.T` without its first factor",
    "`x.T` without .T",
    "`1` with axis 1 moved",
    "`x.max(0)` with axis 0 moved",
]


def test_every_kind_of_change_is_made_and_errors_words_are_left_alone():
    made = [what.split(": ", 1)[1] for what, _ in mutants.of(sample)]
    assert sorted(made) == sorted(WANTED)


def test_lines_are_those_of_the_file():
    first = sample.__code__.co_firstlineno
    assert next(what for what, _ in mutants.of(sample)).startswith(f"line {first + 2}:")


def test_each_mutant_computes_something_else():
    x = np.array([[1.0, 2.0], [4.0, 8.0]])

    def result():
        out = np.array([[16.0, 32.0], [64.0, 128.0]])
        return sample(x, out).tolist()

    original, results = sample.__code__, [result()]
    for _, code in mutants.of(sample):
        sample.__code__ = code
        try:
            results.append(result())
        finally:
            sample.__code__ = original
    assert results[0] not in results[1:]
    assert result() == results[0]


def test_a_mutant_takes_effect_where_the_function_was_imported():
    alias, original = squared, squared.__code__
    ((what, code),) = mutants.of(squared)
    assert what.endswith("`x * x` without its second factor")
    squared.__code__ = code
    try:
        assert alias(3) == 3
    finally:
        squared.__code__ = original
    assert alias(3) == 9
