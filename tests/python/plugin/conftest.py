"""Four CPU devices for JAX, and a data set whose labels tell which sample is which."""

import os

# JAX reads it when its back end starts, with the first array.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import pytest


@pytest.fixture(scope="session")
def numbered_files(tmp_path_factory):
    """20 files; file i holds the byte i, so that readers.file gives it the label i and the content i."""
    folder = tmp_path_factory.mktemp("numbered")
    names = []
    for i in range(20):
        names.append(str(folder / f"{i:03d}.bin"))
        with open(names[-1], "wb") as file:
            file.write(bytes([i]))
    return names
