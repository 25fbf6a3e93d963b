"""Random operators: distributions against SciPy, shapes, and what the values may depend on."""

import numpy as np
import pytest
from scipy import stats

import headrace
from headrace import fn, types

DRAWS = 20000


def run(make, batch_size=1, batches=1, seed=7, num_threads=1):
    """Samples of each output over `batches` iterations."""

    @headrace.pipeline_def(batch_size=batch_size, num_threads=num_threads, device_id=None, seed=seed)
    def pipeline():
        result = make()
        return tuple(result) if isinstance(result, list | tuple) else result

    p = pipeline()
    p.build()
    outputs = None
    for _ in range(batches):
        lists = [[np.array(samples[i]) for i in range(len(samples))] for samples in p.run()]
        outputs = lists if outputs is None else [a + b for a, b in zip(outputs, lists, strict=True)]
    return outputs


def same_distribution(draws, cdf):
    return stats.kstest(draws, cdf).pvalue > 1e-4


CONTINUOUS = {
    "uniform": (lambda **kw: fn.random.uniform(range=[2, 5], **kw), stats.uniform(2, 3)),
    "normal": (lambda **kw: fn.random.normal(mean=1, stddev=2, **kw), stats.norm(1, 2)),
    "beta": (lambda **kw: fn.random.beta(alpha=0.4, beta=2.5, **kw), stats.beta(0.4, 2.5)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("dtype", [types.FLOAT, types.FLOAT64])
def test_elements_of_a_sample_have_the_distribution(name, dtype):
    make, expected = CONTINUOUS[name]
    ((draws,),) = run(lambda: make(shape=[DRAWS], dtype=dtype))
    assert draws.dtype == (np.float32 if dtype == types.FLOAT else np.float64)
    assert same_distribution(draws.astype(np.float64), expected.cdf)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_samples_have_the_distribution(name):
    make, expected = CONTINUOUS[name]
    (samples,) = run(make, batch_size=500, batches=4)
    assert samples[0].shape == ()
    assert same_distribution(np.array(samples, np.float64), expected.cdf)


ALL = {
    "uniform": lambda: fn.random.uniform(shape=[5]),
    "values": lambda: fn.random.uniform(values=list(range(100))),
    "normal": lambda: fn.random.normal(shape=3),
    "coin_flip": lambda: fn.random.coin_flip(shape=[40]),
    "choice": lambda: fn.random.choice(1000, shape=[4]),
    "beta": lambda: fn.random.beta(alpha=0.5),
    "gaussian": lambda: fn.noise.gaussian(np.full((3, 3), 100, np.uint8), stddev=30),
    "salt_and_pepper": lambda: fn.noise.salt_and_pepper(np.full((30, 30, 3), 100, np.uint8), prob=0.5),
    "shot": lambda: fn.noise.shot(np.full((5, 5), 100, np.uint8)),
    "crop": lambda: fn.random_crop_generator(np.array([100, 200])),
}


@pytest.mark.parametrize("name", ALL)
def test_values_depend_on_the_seed_and_the_sample_only(name):
    base = run(ALL[name], batch_size=6, batches=2)
    assert len({a.tobytes() for a in base[0]}) > 1, "samples differ"
    for kwargs in (
        {"batch_size": 4, "batches": 3},
        {"batch_size": 12},
        {"batch_size": 6, "batches": 2, "num_threads": 3},
    ):
        for a, b in zip(base, run(ALL[name], **kwargs), strict=True):
            np.testing.assert_array_equal(a, b)
    other = run(ALL[name], batch_size=6, batches=2, seed=8)
    assert any(not np.array_equal(a, b) for a, b in zip(base[0], other[0], strict=True))


def test_operators_have_seeds_of_their_own():
    first, second = run(lambda: (fn.random.uniform(), fn.random.uniform()))
    assert first[0] != second[0]
    first, second = run(lambda: (fn.random.uniform(seed=3), fn.random.uniform(seed=3)))
    assert first[0] == second[0]


def test_coin_flip_and_choice_frequencies():
    coins, picks = run(
        lambda: (
            fn.random.coin_flip(probability=0.2, shape=[DRAWS]),
            fn.random.choice([1.5, 2.5, 3.5], p=[0.5, 0.0, 0.5], shape=[DRAWS]),
        )
    )
    assert coins[0].dtype == np.int32
    assert stats.binomtest(int(coins[0].sum()), DRAWS, 0.2).pvalue > 1e-4
    values, counts = np.unique(picks[0], return_counts=True)
    assert values.tolist() == [1.5, 3.5]
    assert stats.binomtest(int(counts[0]), DRAWS, 0.5).pvalue > 1e-4


def test_shot_noise_is_poisson():
    ((out,),) = run(lambda: fn.noise.shot(np.full(DRAWS, 50, np.float32), factor=10.0))
    counts = np.bincount((out / 10).astype(int), minlength=20)[:20]
    expected = stats.poisson(5).pmf(np.arange(20)) * DRAWS
    many = expected > 10
    assert (np.abs(counts - expected)[many] < 5 * np.sqrt(expected[many])).all()


def test_arguments_may_be_nodes():
    def make():
        mean = fn.random.uniform(values=[10.0, 20.0, 30.0])
        low = fn.stack(mean, mean + 1)
        return mean, fn.random.normal(mean=mean, stddev=0.0), fn.random.uniform(range=low)

    for mean, normal, uniform in zip(*run(make, batch_size=20), strict=True):
        assert normal == mean
        assert mean <= uniform < mean + 1


def test_batch_permutation():
    (samples,) = run(lambda: fn.batch_permutation(no_fixed_points=True), batch_size=8, batches=3)
    orders = np.array(samples).reshape(3, 8)
    assert orders.dtype == np.int32
    for order in orders:
        assert sorted(order) == list(range(8))
        assert (order != np.arange(8)).all()
    assert not np.array_equal(orders[0], orders[1])


def test_shapes_come_from_an_argument_or_an_input():
    like = np.zeros((2, 3), np.uint8)
    a, b, c = run(lambda: (fn.random.uniform(like), fn.random.normal(shape=(4, 5)), fn.random.coin_flip(shape=0)))
    assert [a[0].shape, b[0].shape, c[0].shape] == [(2, 3), (4, 5), (0,)]
    with pytest.raises(RuntimeError, match="shape"):
        run(lambda: fn.random.uniform(like, shape=[2]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: fn.random.uniform(range=[1, 1]),
        lambda: fn.random.uniform(dtype=types.FLOAT16),
        lambda: fn.random.coin_flip(dtype=types.FLOAT),
        lambda: fn.random.choice(3, p=[0.5, 0.6, 0.5]),
        lambda: fn.random.choice(0),
        lambda: fn.random.beta(alpha=-1.0),
        lambda: fn.noise.gaussian(np.array([True])),
        lambda: fn.noise.salt_and_pepper(np.zeros(3, np.uint8), prob=1.5),
        lambda: fn.random_crop_generator(np.array([100])),
        lambda: fn.random_crop_generator(np.array([100, 100]), random_area=[0.5, 0.2]),
    ],
)
def test_refusals_name_the_operator(make):
    with pytest.raises(RuntimeError, match=r"\[(random|noise)"):
        run(make)


def test_deprecated_names_warn_and_work():
    for old, new in (
        (fn.uniform, fn.random.uniform),
        (fn.coin_flip, fn.random.coin_flip),
        (fn.normal_distribution, fn.random.normal),
    ):
        with pytest.warns(DeprecationWarning):
            (a,) = run(lambda old=old: old(shape=[5], seed=1))
        (b,) = run(lambda new=new: new(shape=[5], seed=1))
        np.testing.assert_array_equal(a, b)
