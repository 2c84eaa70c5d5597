import pytest
import torch
from torch import nn

from pocket.baseline.models import model
from pocket.data import smallest_map


def count(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def test_parameter_counts_are_those_of_the_articles():
    assert count(model("simple_cnn", (64, 64, 3), 10)) == 1_143_690
    assert count(model("resnet", (32, 32, 3), 10)) == 4_622_410
    assert count(model("resnet", (64, 64, 3), 10)) == 4_622_410
    assert count(model("mlp", (20,), 1)) == 20 * 128 + 128 + 128 * 64 + 64 + 64 + 1


def test_names_are_those_that_both_trainers_share():
    names = {name.rsplit(".", 1)[0] for name in model("resnet", (8, 8, 3), 10, 0.1).state_dict()}
    blocks = {f"stages.{s}.{b}" for s, n in enumerate((3, 4, 3)) for b in range(n)}
    parts = {f"{block}.{part}" for block in blocks for part in ("norm1", "conv1", "norm2", "conv2")}
    assert names == {"stem", "norm", "fc", "stages.1.0.shortcut", "stages.2.0.shortcut", *parts}
    cnn = {name.rsplit(".", 1)[0] for name in model("simple_cnn", (8, 8, 1), 10).state_dict()}
    assert cnn == {"conv1", "norm1", "conv2", "norm2", "conv3", "norm3", "fc1", "fc2"}
    assert {name.rsplit(".", 1)[0] for name in model("mlp", (5,), 1).state_dict()} == {"fc1", "fc2", "fc3"}


def test_width_scales_channels_and_is_never_nothing():
    network = model("simple_cnn", (8, 8, 3), 10, 0.5)
    assert [network.conv1.out_channels, network.conv3.out_channels, network.fc1.out_features] == [16, 64, 64]
    assert network.fc2.out_features == 10
    assert model("mlp", (5,), 3, 0.001).fc1.out_features == 1


def test_residual_network_is_the_pre_activation_one():
    """The formula, by hand, on one block with a shortcut and one without."""
    network = model("resnet", (8, 8, 3), 4, 0.1).eval()
    x = torch.randn(2, 6, 8, 8, generator=torch.Generator().manual_seed(0))
    plain, strided = network.stages[0][0], network.stages[1][0]
    inner = plain.conv1(torch.relu(plain.norm1(x)))
    torch.testing.assert_close(plain(x.clone()), x + plain.conv2(torch.relu(plain.norm2(inner))))
    out = torch.relu(strided.norm1(x))
    inner = strided.conv2(torch.relu(strided.norm2(strided.conv1(out))))
    torch.testing.assert_close(strided(x.clone()), strided.shortcut(out) + inner)
    assert strided(x).shape == (2, 13, 4, 4)


@pytest.mark.parametrize(("name", "shape"), [("simple_cnn", (17, 8, 3)), ("resnet", (4, 3, 3)), ("resnet", (9, 32, 3))])
def test_smallest_normalised_map_is_what_data_says(name, shape):
    network = model(name, shape, 4, 0.1).eval()
    positions = []
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.register_forward_hook(lambda _, inputs, __: positions.append(inputs[0][0, 0].numel()))
    network(torch.zeros(1, shape[2], *shape[:2]))
    assert min(positions) == smallest_map(name, shape)


def test_what_does_not_fit_is_said():
    with pytest.raises(ValueError, match="'vgg' is not known; wanted one of mlp, simple_cnn, resnet"):
        model("vgg", (8, 8, 3), 10)
    with pytest.raises(ValueError, match="needs images, got rows of 20 features"):
        model("resnet", (20,), 1)
    with pytest.raises(ValueError, match="got 7 x 8, wanted 8 x 8 or more"):
        model("simple_cnn", (7, 8, 3), 10)
