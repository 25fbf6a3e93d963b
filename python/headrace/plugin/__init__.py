"""Iterators that hand batches to JAX, PyTorch and NumPy."""
