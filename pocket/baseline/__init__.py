"""The baseline: the same three networks and the same loop, hand-written in plain PyTorch. Start at `train.py`."""
