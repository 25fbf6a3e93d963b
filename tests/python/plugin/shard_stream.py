"""The samples that a sequential reader gives, sample by sample: an oracle as a plain loop."""

from collections.abc import Iterator


def shard_stream(
    n: int, num_shards: int, shard: int, batch: int, pad_last_batch: bool = False, stick_to_shard: bool = False
) -> Iterator[int]:
    """Endless: the shard, then the next one, or the same again. Padding repeats the last sample to whole batches."""
    bounds = [n * i // num_shards for i in range(num_shards + 1)]
    longest = max(end - begin for begin, end in zip(bounds, bounds[1:], strict=False))
    padded_size = -(-longest // batch) * batch
    while True:
        samples = list(range(bounds[shard], bounds[shard + 1]))
        if pad_last_batch:
            samples += samples[-1:] * (padded_size - len(samples))
        yield from samples
        if not stick_to_shard:
            shard = (shard + 1) % num_shards


def epoch_cases() -> list[dict]:
    """What iterators of DALI gave (tests/data/iterator_epochs.json)."""
    import json
    from pathlib import Path

    path = Path(__file__).parents[2] / "data" / "iterator_epochs.json"
    return json.loads(path.read_text())["sequences"]


def case_name(case: dict) -> str:
    """For pytest's listing."""
    reader = "-".join(key for key, value in case["reader_args"].items() if value is True)
    how = "reader" if "reader_name" in case["iterator_args"] else f"size{case['iterator_args']['size']}"
    shards = f"{case['shards']}of{case['num_shards']}".replace(" ", "")
    return f"n{case['n']}-b{case['batch']}-{case['policy']}-{how}-{shards}-{reader}"
