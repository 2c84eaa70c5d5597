import dataclasses

import numpy as np
import pytest
import torch

from pocket.baseline import train as training
from pocket.baseline.train import fit, train

from .jobs import image_job, losses


def test_memory_format_reaches_the_maps():
    for name, wanted in (("channels_last", torch.channels_last), ("contiguous", torch.contiguous_format)):
        seen = []
        job = image_job("simple_cnn", parts=1, memory_format=name)
        network = training.initial_network(job, torch.device("cpu"))
        network.conv1.register_forward_pre_hook(lambda _, inputs, seen=seen: seen.append(inputs[0]))
        network.conv2.register_forward_hook(lambda _, __, y, seen=seen: seen.append(y))
        losses(fit(job, network))
        assert [x.is_contiguous(memory_format=wanted) for x in seen] == [True, True]
        assert network.conv2.weight.is_contiguous(memory_format=wanted)


def test_mixed_precision_computes_in_half_and_keeps_parameters_single():
    job = image_job("simple_cnn", precision="amp")
    network = training.initial_network(job, torch.device("cpu"))
    seen = []
    network.conv2.register_forward_hook(lambda _, __, y: seen.append(y.dtype))
    mixed = losses(fit(job, network))
    assert set(seen) == {torch.bfloat16}
    assert {value.dtype for value in network.state_dict().values()} == {torch.float32, torch.int64}
    single = losses(train(image_job("simple_cnn")))
    np.testing.assert_allclose(mixed, single, rtol=0.05)
    assert mixed != single


def test_input_is_normalised_in_floating_point():
    """0..255 becomes (p / 255 - mean) / std in float32: no wrap below the mean, none above."""
    job = image_job("mlp", parts=1)
    x = np.arange(256, dtype=np.uint8).reshape(4, 8, 8, 1).repeat(3, axis=3)
    inputs = training.Input(job, torch.device("cpu"))
    came = inputs.normalise(inputs.send(x))
    assert came.dtype == torch.float32
    wanted = (x.astype(np.float64) / 255 - job.input_mean) / job.input_std
    np.testing.assert_allclose(came.permute(0, 2, 3, 1).numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("memory_format", ["channels_last", "contiguous"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("float64", 1e-14)])
def test_rows_of_pixels_are_normalised_as_the_formula_says(memory_format, dtype, tolerance):
    job = image_job("simple_cnn", parts=1, memory_format=memory_format, dtype=dtype)
    x = np.random.default_rng(0).integers(0, 256, (5, *job.input_shape), dtype=np.uint8)
    inputs = training.Input(job, torch.device("cpu"))
    came = inputs.normalise(inputs.send(x))
    wanted = (x / 255 - job.input_mean.astype(np.float64)) / job.input_std
    assert np.abs(came.permute(0, 2, 3, 1).numpy() - wanted).max() <= tolerance * np.abs(wanted).max()
    wanted_format = torch.channels_last if memory_format == "channels_last" else torch.contiguous_format
    assert came.is_contiguous(memory_format=wanted_format)
    assert (x == inputs.send(x).numpy()).all()  # and nothing was written to the batch


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"device": "tpu"}, "'tpu' is not supported; wanted cpu or cuda"),
        ({"precision": "int8"}, "'int8' is not supported"),
        ({"dtype": "float16"}, "'float16' is not supported"),
        ({"precision": "amp", "dtype": "float64"}, "mixes with float32 only"),
        ({"memory_format": "rows"}, "'rows' is not supported"),
    ],
)
def test_unsupported_settings_are_said_before_any_event(change, words):
    with pytest.raises(ValueError, match=words):
        next(train(image_job("simple_cnn", **change)))


def test_a_card_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="finds no CUDA card here; set device: cpu"):
        next(train(image_job("mlp", device="cuda")))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", ["channels_last", "contiguous"])
def test_strides_of_one_channel_too_say_which_format_is_meant(name, channels):
    job = dataclasses.replace(
        image_job("simple_cnn", parts=1, memory_format=name),
        input_shape=(8, 16, channels),
        input_mean=np.full(channels, 0.5, np.float32),
        input_std=np.full(channels, 0.25, np.float32),
    )
    inputs = training.Input(job, torch.device("cpu"))
    x = inputs.normalise(inputs.send(np.zeros((2, 8, 16, channels), np.uint8)))
    area = 8 * 16
    wanted = {
        "channels_last": (area * channels, 1, 16 * channels, channels),
        "contiguous": (area * channels, area, 16, 1),
    }
    assert x.stride() == wanted[name]
