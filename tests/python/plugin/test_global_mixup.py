"""Global mixup: processes and devices mix their images by a JAX function inside the pipeline.

The oracle decodes with Pillow, and crops, resizes and mixes with NumPy.
"""

from pathlib import Path

import numpy as np
import pytest
from processes import free_port, run_together

pytest.importorskip("jax")
image = pytest.importorskip("PIL.Image")

FOLDER = Path(__file__).parent
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "global_mixup"
FILES = [path for kind in ("dogs", "kittens") for path in sorted((EXAMPLE / "images" / kind).glob("*.jpg"))]
BATCH = 16


def cropped(path, height=128, width=160):
    """The middle of an image: DALI's crop with its default position, rounded half up."""
    pixels = np.asarray(image.open(path).convert("RGB"))
    top, left = (pixels.shape[0] - height + 1) // 2, (pixels.shape[1] - width + 1) // 2
    return pixels[top : top + height, left : left + width]


@pytest.fixture(scope="module")
def global_batch():
    return np.stack([cropped(path) for path in FILES]).astype(np.float32)


def mixed(batch, variant, blocks):
    """The global batch as the variant mixes it, when axis 0 is cut into so many blocks."""
    if variant == "mean":
        other = np.broadcast_to(batch.sum(0, dtype=np.float64) / BATCH, batch.shape)
    else:
        other = np.concatenate(np.split(batch, blocks)[::-1])
    return (0.5 * batch + 0.5 * other).clip(0, 255)


# processes, devices of each -> variants and the blocks that each cuts the rows into
RUNS = {
    (1, 2): {"shuffle": 2, "mean": 2},
    (1, 4): {"square": 2, "both axes": 4, "per output": 2},
    (1, 8): {"shuffle": 8, "mean": 8, "backwards": 8},
    (2, 1): {"shuffle": 2, "mean": 2, "backwards": 2},
    (2, 2): {"shuffle": 4, "square": 2, "both axes": 4, "mean": 4, "per output": 2},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What a run's processes hold: variant -> one dict for each process; every run happens once."""
    made = {}

    def of(processes, devices):
        if (processes, devices) not in made:
            out = tmp_path_factory.mktemp("mixup")
            variants = list(RUNS[processes, devices])
            port = free_port()
            run_together(
                [FOLDER / "mixup_program.py", number, processes, devices, port, out, ",".join(variants)]
                for number in range(processes)
            )
            made[processes, devices] = {
                variant: [dict(np.load(out / f"{variant}.{number}.npz")) for number in range(processes)]
                for variant in variants
            }
        return made[processes, devices]

    return of


CASES = [(*run, variant, blocks) for run, variants in RUNS.items() for variant, blocks in variants.items()]


@pytest.mark.parametrize("processes, devices, variant, blocks", CASES)
def test_every_device_holds_its_rows_of_the_mixed_batch(results, global_batch, processes, devices, variant, blocks):
    expected = mixed(global_batch, variant, blocks)
    covered = set()
    for process in results(processes, devices)[variant]:
        assert len(process) == 3 * 2 * devices  # batches, outputs, local shards
        for name, data in process.items():
            _, key, _, first, stop = name.split(" ")
            first, stop = int(first), int(stop)
            finer = variant == "per output" and key == "sums"
            assert stop - first == BATCH // (processes * devices if finer else blocks)
            covered.update(range(first, stop))
            if key == "images":
                assert np.abs(data - expected[first:stop]).max() <= 1  # cut off, and float32 means
            else:
                assert data.dtype == np.int32
    assert covered == set(range(BATCH))


@pytest.mark.parametrize("processes, devices, variant, blocks", CASES)
def test_a_function_behind_a_function(results, processes, devices, variant, blocks):
    sums = {}  # (batch, row) -> of the mixed image, by NumPy
    shards = [shard for process in results(processes, devices)[variant] for shard in process.items()]
    for name, images in shards:
        batch, key, _, first, _ = name.split(" ")
        if key == "images":
            of_rows = images.astype(np.int64).sum((1, 2, 3))
            sums.update({(batch, int(first) + i): value for i, value in enumerate(of_rows)})
    assert len(sums) == 3 * BATCH
    for name, data in shards:
        batch, key, _, first, stop = name.split(" ")
        if key == "sums":
            assert data.tolist() == [sums[batch, row] for row in range(int(first), int(stop))]


def resized(path, size=244):
    """Linear with antialiasing, as behaviour of resize: triangle filter, widened where the image shrinks."""
    pixels = np.asarray(image.open(path).convert("RGB")).astype(np.float64)
    for axis in (0, 1):
        count = pixels.shape[axis]
        scale = count / size
        radius = max(1.0, scale)
        centres = (np.arange(size) + 0.5) * scale - 0.5
        weights = np.maximum(0, 1 - np.abs(np.arange(count)[None, :] - centres[:, None]) / radius)
        if radius == 1.0:  # beyond the border lies the border's pixel
            weights[:, 0] += np.maximum(0, 1 - np.abs(-1 - centres))
            weights[:, -1] += np.maximum(0, 1 - np.abs(count - centres))
        weights /= weights.sum(1, keepdims=True)
        pixels = np.moveaxis(np.tensordot(weights, pixels, (1, axis)), 0, axis)
    return pixels


@pytest.fixture(scope="module")
def mixed_pets():
    """The mean of dog i and kitten i, as both processes of the program get it."""
    return np.stack(
        [0.5 * resized(dog) + 0.5 * resized(kitten) for dog, kitten in zip(FILES[:8], FILES[8:], strict=True)]
    )


def test_the_program_as_it_is_written_for_dali(tmp_path, mixed_pets):
    port = free_port()
    run_together(
        ["-m", "headrace.compat.dali", FOLDER / "mixup_dali_program.py", number, port, tmp_path / f"{number}.npy"]
        for number in range(2)
    )
    batches = [np.load(tmp_path / f"{number}.npy") for number in range(2)]
    np.testing.assert_array_equal(*batches)
    assert batches[0].shape == (3, 8, 244, 244, 3)
    for batch in batches[0]:
        assert np.abs(batch - mixed_pets).max() <= 2


@pytest.mark.parametrize("swapped", [False, True])
def test_the_example(tmp_path, mixed_pets, swapped):
    folders = [EXAMPLE / "images" / kind for kind in ("dogs", "kittens")]
    arguments = folders[::-1] if swapped else []
    (out,) = run_together([[EXAMPLE / "mixup.py", *arguments, "--out", tmp_path / "new" / "mixed.png"]])
    assert "a global batch of (16, 244, 244, 3), of which this process holds (8, 244, 244, 3)" in out
    picture = np.asarray(image.open(tmp_path / "new" / "mixed.png"))
    assert picture.shape == (2 * 244, 4 * 244, 3)
    rows = picture.reshape(2, 244, 4, 244, 3).transpose(0, 2, 1, 3, 4).reshape(8, 244, 244, 3)
    assert np.abs(rows - mixed_pets).max() <= 2


def test_the_example_refuses_a_folder_without_images(tmp_path):
    with pytest.raises(AssertionError, match="expected at least 8 JPEG files, found 0"):
        run_together([[EXAMPLE / "mixup.py", tmp_path, tmp_path]])
