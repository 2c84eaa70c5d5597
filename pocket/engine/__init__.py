"""The engine: training from scratch on NumPy. Start reading at `operator`, `ops.linear`, `tensor`, `nn` and `train`."""
