"""The arithmetic of epochs against what DALI's iterators gave, without any pipeline."""

import pytest
from shard_stream import case_name, epoch_cases, shard_stream

from headrace.plugin.epochs import EndlessEpochs, EpochCounter, LastBatchPolicy, ReaderEpochs, ReaderShards, SizeEpochs

CASES = [case for case in epoch_cases() if "epochs" in case]


def make_counter(case: dict) -> EpochCounter:
    policy = LastBatchPolicy[case["policy"]]
    how = case["iterator_args"]
    if "size" in how:
        return SizeEpochs(case["batch"], len(case["shards"]), how["size"], policy, how.get("last_batch_padded", False))
    reader = case["reader_args"]
    shards = ReaderShards(
        case["n"],
        case["num_shards"],
        tuple(case["shards"]),
        reader.get("pad_last_batch", False),
        reader.get("stick_to_shard", False),
    )
    return ReaderEpochs(case["batch"], shards, policy)


class Simulation:
    """An iterator over simulated readers."""

    def __init__(self, case: dict) -> None:
        self.batch = case["batch"]
        self.by_size = "size" in case["iterator_args"]
        self.streams = [
            shard_stream(case["n"], case["num_shards"], shard, case["batch"], **case["reader_args"])
            for shard in case["shards"]
        ]
        self.counter = make_counter(case)

    def epoch(self, checkpoint: bool = False) -> list:
        batches = []
        while not self.counter.finished():
            read = [[next(stream) for _ in range(self.batch)] for stream in self.streams]
            rows = self.counter.count_batch()
            if rows is not None:
                kept = [samples[:count] for samples, count in zip(read, rows, strict=True)]
                batches.append([samples for samples in kept if samples or not self.by_size])
            if checkpoint:
                self.counter.restore(self.counter.state())
        return batches


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_epochs_equal_recorded_ones(case):
    simulation = Simulation(case)
    for number, expected in enumerate(case["epochs"]):
        # DALI tells the size of the epoch before until the next one is started.
        assert simulation.counter.size == expected["size"], number
        assert simulation.counter.num_batches() == expected["len"], number
        if number:
            simulation.counter.start_epoch()
        assert simulation.epoch() == expected["batches"], number


@pytest.mark.parametrize("case", CASES[::7], ids=case_name)
def test_state_in_the_middle_of_epochs(case):
    simulation = Simulation(case)
    for number, expected in enumerate(case["epochs"]):
        if number:
            simulation.counter.start_epoch()
        assert simulation.epoch(checkpoint=True) == expected["batches"]


def test_every_rank_makes_equally_many_batches_and_none_lacks_a_sample():
    for n in range(3, 20):
        for num_shards in (1, 2, 3):
            for batch in (1, 2, 4):
                counters = []
                for rank in range(num_shards):
                    shards = ReaderShards(n, num_shards, (rank,), padded=False, stick_to_shard=False)
                    counters.append(ReaderEpochs(batch, shards, LastBatchPolicy.FILL))
                streams = [shard_stream(n, num_shards, rank, batch) for rank in range(num_shards)]
                for epoch in range(4):
                    seen, counts = set(), set()
                    for counter, stream in zip(counters, streams, strict=True):
                        count = 0
                        while not counter.finished():
                            seen.update(next(stream) for _ in range(batch))
                            counter.count_batch()
                            count += 1
                        counter.start_epoch()
                        counts.add(count)
                    assert len(counts) == 1, (n, num_shards, batch, epoch)
                    # Samples of the last batch that belong to this epoch were seen in the one before.
                    if epoch == 0:
                        assert seen == set(range(n))


def test_epochs_of_unknown_length_end_with_the_source():
    counter = EndlessEpochs(4, 1, LastBatchPolicy.FILL)
    assert counter.size == -1
    assert counter.num_batches() == 0
    for _ in range(100):
        assert not counter.finished()
        assert counter.count_batch() == [4]


def test_a_shard_smaller_than_a_dropped_batch_gives_no_batch():
    shards = ReaderShards(5, 2, (0,), padded=False, stick_to_shard=False)
    counter = ReaderEpochs(4, shards, LastBatchPolicy.DROP)
    assert counter.num_batches() == 0
    assert not counter.finished()
    assert counter.count_batch() is None
