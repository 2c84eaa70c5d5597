"""What training small networks really costs, measured on the machine you own."""

__version__ = "0.1.0"
