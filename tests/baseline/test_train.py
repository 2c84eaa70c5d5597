import numpy as np
import pytest
import torch
import torch.nn.functional as F

from pocket.baseline import train as training
from pocket.baseline.models import model
from pocket.baseline.train import fit, train
from pocket.contract import BatchReady, Epoch, Step, Transferred
from pocket.data import Batches, load, prepare

from .jobs import SETTINGS, cut, image_job, job_of, losses, weights

OPTIMIZERS = [
    {"optimizer": "sgd", "momentum": 0.0},
    {"optimizer": "sgd", "momentum": 0.9, "nesterov": True},
    {"optimizer": "adam", "learning_rate": 0.01},
    {"optimizer": "adamw", "learning_rate": 0.01, "weight_decay": 0.1},
]


def plain_losses(job, rule):
    """The same training, spelt out independently: N C H W, nothing fused, nothing in place."""
    network = model(job.settings["model"], job.input_shape, job.outputs, job.settings["width"])
    network.load_state_dict({name: torch.tensor(value) for name, value in job.weights.items()})
    network.double()
    kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    rule = {"learning_rate": job.settings["learning_rate"], **rule}
    optimizer = kinds[rule.pop("optimizer")](network.parameters(), lr=rule.pop("learning_rate"), **rule)
    found = []
    for batch in job.batches(0):
        x = (batch.x.astype(np.float64) / 255 - job.input_mean) / job.input_std
        x = torch.tensor(np.ascontiguousarray(x.transpose(0, 3, 1, 2)))
        loss = F.cross_entropy(network(x), torch.tensor(batch.y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("rule", OPTIMIZERS, ids=lambda rule: "-".join(map(str, rule.values())))
@pytest.mark.parametrize("name", ["mlp", "simple_cnn", "resnet"])
def test_ten_steps_equal_a_plain_loop(name, rule):
    job = image_job(name, width=0.1, dtype="float64", **rule)
    np.testing.assert_allclose(losses(train(job)), plain_losses(job, dict(rule)), rtol=1e-9)


@pytest.mark.parametrize("memory_format", ["channels_last", "contiguous"])
def test_ten_steps_in_single_precision(memory_format):
    job = image_job("simple_cnn", memory_format=memory_format)
    np.testing.assert_allclose(losses(train(job)), plain_losses(job, {"optimizer": "sgd", "momentum": 0.9}), rtol=1e-3)


def test_events_come_in_the_order_of_the_contract():
    job = image_job("mlp", parts=2, batch=8, micro=4, epochs=2)
    update = [BatchReady, Transferred, BatchReady, Transferred, Step]
    events = list(train(job))
    assert [type(event) for event in events] == [*update, *update, Epoch] * 2
    assert [event.number for event in events if isinstance(event, Epoch)] == [0, 1]
    assert [event.samples for event in events if isinstance(event, Step)] == [8] * 4


def test_training_ends_after_max_updates():
    events = list(train(image_job("mlp", parts=3, epochs=4, max_updates=4)))
    assert sum(isinstance(event, Step) for event in events) == 4
    assert [event.number for event in events if isinstance(event, Epoch)] == [0, 1]
    assert isinstance(events[-1], Epoch)


def test_learning_rate_follows_the_schedule_by_epoch():
    """On a straight slope each update moves by the learning rate times the slope."""
    settings = {**SETTINGS, "momentum": 0.0, "learning_rate": 1.0, "dtype": "float64", "epochs": 4, "schedule": "step"}
    x = np.ones((2, 1), dtype=np.float32)
    job = job_of(settings, cut(x, x, 1, 1), {}, (1,), 1, "regression")
    job.input_mean[:], job.input_std[:] = 0, 1
    network = torch.nn.Linear(1, 1, bias=False).double()
    torch.nn.init.zeros_(network.weight)
    places = [0.0]
    events = training.Update(job, network)
    events.loss = lambda outputs, y: outputs.sum()
    for epoch in range(4):
        events.set_epoch(epoch)
        list(events.run(job.batches(epoch)))
        places.append(network.weight.item())
    np.testing.assert_allclose(-np.diff(places), [1.0, 1.0, 0.1, 0.01], rtol=1e-12)


def test_predict_uses_running_statistics_and_leaves_everything_as_it_was():
    job = image_job("simple_cnn")
    network = training.initial_network(job, torch.device("cpu"))
    *_, last = fit(job, network)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    x = next(iter(job.batches(0))).x
    x.flags.writeable = False
    together = last.predict(x)
    assert together.dtype == np.float32
    assert together.shape == (8, 4)
    one_by_one = np.concatenate([last.predict(x[index : index + 1]) for index in range(8)])
    np.testing.assert_allclose(one_by_one, together, rtol=1e-4, atol=1e-5)
    assert network.training
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_weights_of_the_job_are_not_written_to():
    job = image_job("simple_cnn")
    before = {name: value.copy() for name, value in job.weights.items()}
    losses(train(job))
    for name, value in job.weights.items():
        np.testing.assert_array_equal(value, before[name])


def test_same_job_twice_is_bitwise_the_same():
    assert losses(train(image_job("resnet", parts=3, width=0.1))) == losses(
        train(image_job("resnet", parts=3, width=0.1))
    )


def test_nan_is_not_hidden():
    found = losses(train(image_job("mlp", learning_rate=1e30)))
    assert not np.isfinite(found).all()


def test_digits_are_learnt(tmp_path):
    prepare("digits", None, None, None, tmp_path / "digits")
    data = load(tmp_path / "digits")
    batches = Batches(data, 64, accumulation_steps=2, seed=1, augmentation=["crop"])
    settings = {**SETTINGS, "model": "simple_cnn", "width": 0.5, "epochs": 8, "schedule": "cosine"}
    job = training.Job(
        settings=settings,
        weights=weights("simple_cnn", data.input_shape, 10, 0.5),
        batches=batches,
        updates_per_epoch=batches.updates_per_epoch,
        input_shape=data.input_shape,
        outputs=data.outputs,
        task=data.task,
        input_mean=data.mean,
        input_std=data.std,
    )
    *_, last = train(job)
    right = (last.predict(data.x_test).argmax(axis=1) == data.y_test).mean()
    assert right > 0.97
