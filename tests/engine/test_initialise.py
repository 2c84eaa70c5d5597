"""Initial weights: PyTorch's names and shapes, counts, deviations, repetition by seed."""

import numpy as np
import pytest
import torch
from torch import nn

from pocket.baseline.models import model as module_of
from pocket.engine.initialise import INITIALISATIONS, initial_weights

IMAGE = (64, 64, 3)


@pytest.mark.parametrize(
    ("model", "shape", "width"),
    [
        ("mlp", (20,), 1.0),
        ("mlp", (8, 6, 3), 0.5),
        ("simple_cnn", (16, 16, 1), 0.25),
        ("resnet", (8, 8, 3), 0.1),
    ],
)
def test_the_baselines_module_loads_them_strictly(model, shape, width):
    weights = initial_weights(model, shape, 7, width, "xavier", 1)
    module = module_of(model, shape, 7, width)
    module.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()}, strict=True)
    for name, tensor in module.state_dict().items():
        assert weights[name].dtype == tensor.numpy().dtype


@pytest.mark.parametrize("initialisation", INITIALISATIONS)
def test_deviations_are_those_of_the_rule(initialisation):
    weights = initial_weights("simple_cnn", IMAGE, 10, 1.0, initialisation, 0)
    conv, linear = weights["conv3.weight"], weights["fc1.weight"]
    wanted = {
        "he": (np.sqrt(2 / 576), np.sqrt(2 / 8192)),
        "xavier": (np.sqrt(2 / (576 + 1152)), np.sqrt(2 / (8192 + 128))),
        "gaussian": (0.01, 0.01),
    }[initialisation]
    assert conv.std() == pytest.approx(wanted[0], rel=0.02)
    assert linear.std() == pytest.approx(wanted[1], rel=0.02)
    assert abs(conv.mean()) < 0.02 * wanted[0]


def test_fans_are_pytorchs():
    weight = torch.empty(256, 128, 3, 3)
    for name, draw in (("he", nn.init.kaiming_normal_), ("xavier", nn.init.xavier_normal_)):
        fan_in, fan_out = nn.init._calculate_fan_in_and_fan_out(weight)
        assert INITIALISATIONS[name](fan_in, fan_out) == pytest.approx(draw(weight).std().item(), rel=0.01)


def test_biases_and_running_statistics():
    weights = initial_weights("simple_cnn", IMAGE, 10, 0.5, "he", 0)
    wanted = {"norm2.weight": 1, "norm2.bias": 0, "norm2.running_mean": 0, "norm2.running_var": 1}
    wanted |= {"norm2.num_batches_tracked": 0, "conv2.bias": 0, "fc1.bias": 0, "fc2.bias": 0}
    for name, value in wanted.items():
        np.testing.assert_array_equal(weights[name], value, err_msg=name)
    assert weights["norm2.num_batches_tracked"].dtype == np.int64


def test_a_seed_repeats_them_and_another_changes_them():
    first, again, other = (initial_weights("mlp", (20,), 1, 1.0, "he", seed) for seed in (4, 4, 5))
    for name in first:
        np.testing.assert_array_equal(first[name], again[name])
    assert np.any(first["fc1.weight"] != other["fc1.weight"])


def test_layers_of_one_shape_differ():
    weights = initial_weights("resnet", (8, 8, 3), 10, 0.1, "he", 0)
    assert np.any(weights["stages.0.0.conv1.weight"] != weights["stages.0.1.conv1.weight"])


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"orthogonal.*he, xavier, gaussian"):
        initial_weights("mlp", (20,), 1, 1.0, "orthogonal", 0)
    with pytest.raises(ValueError, match=r"vgg.*mlp, simple_cnn, resnet"):
        initial_weights("vgg", (20,), 1, 1.0, "he", 0)
