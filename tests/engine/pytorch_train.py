"""Plain PyTorch's training of a job, written out: the losses that the engine's are compared with."""

from math import ceil

import numpy as np
import torch
from torch.nn import functional

from .pytorch_nets import net


def pytorch_losses(job, memory_format=torch.contiguous_format):
    """The loss of each update. On one thread: nets this small only wait for a second one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _losses(job, memory_format)
    finally:
        torch.set_num_threads(threads)


def _losses(job, memory_format):
    settings, dtype = job.settings, getattr(torch, job.settings["dtype"])
    model = net(settings["model"], job.input_shape, job.outputs, settings["width"], job.weights, dtype)
    model = model.to(memory_format=memory_format)
    optimizer = _optimizer(model, settings)
    scheduler = _scheduler(optimizer, settings)
    losses = []
    for epoch in range(settings["epochs"]):
        losses += _epoch(job, model, optimizer, job.batches(epoch), dtype, memory_format)
        scheduler.step()
    return np.array(losses)


def _epoch(job, model, optimizer, batches, dtype, memory_format):
    losses, gathered = [], 0.0
    for batch in batches:
        y = model(_inputs(job, batch.x, dtype, memory_format))
        if job.task == "classification":
            loss = functional.cross_entropy(y, torch.from_numpy(batch.y))
        else:
            loss = functional.mse_loss(y, torch.from_numpy(batch.y).to(dtype))
        loss = loss * (len(batch.y) / batch.group_samples)
        loss.backward()
        gathered += loss.item()
        if batch.ends_group:
            optimizer.step()
            optimizer.zero_grad()
            losses.append(gathered)
            gathered = 0.0
    return losses


def _inputs(job, x, dtype, memory_format):
    mean, std = torch.tensor(job.input_mean, dtype=dtype), torch.tensor(job.input_std, dtype=dtype)
    if x.ndim == 2:
        return (torch.from_numpy(x).to(dtype) - mean) / std
    standard = (torch.from_numpy(x).to(dtype) / 255 - mean) / std
    return standard.permute(0, 3, 1, 2).contiguous(memory_format=memory_format)


def _optimizer(model, settings):
    shared = {"lr": settings["learning_rate"], "weight_decay": settings["weight_decay"]}
    if settings["optimizer"] == "adam":
        return torch.optim.Adam(model.parameters(), **shared)
    if settings["optimizer"] == "adamw":
        return torch.optim.AdamW(model.parameters(), **shared)
    momentum = {"momentum": settings["momentum"], "nesterov": settings["nesterov"]}
    return torch.optim.SGD(model.parameters(), **shared, **momentum)


def _scheduler(optimizer, settings):
    epochs, schedules = settings["epochs"], torch.optim.lr_scheduler
    return {
        "constant": lambda: schedules.ConstantLR(optimizer, factor=1),
        "cosine": lambda: schedules.CosineAnnealingLR(optimizer, T_max=epochs),
        "step": lambda: schedules.MultiStepLR(optimizer, [ceil(epochs / 2), ceil(epochs * 3 / 4)], gamma=0.1),
    }[settings["schedule"]]()
