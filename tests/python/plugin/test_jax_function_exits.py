"""Programs with JAX functions in their graph end within two seconds, whatever these are doing."""

import textwrap

import pytest
from test_exits import run

pytest.importorskip("jax")

START = """
import os, signal
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from headrace.plugin.jax import data_iterator
from headrace.plugin.jax.fn import jax_function
JOINT = NamedSharding(Mesh(jax.devices(), "a"), P("a"))
entered = threading.Event()

def mixed(function, sharding=JOINT):
    @data_iterator(output_map=["x"], sharding=JOINT)
    def read(shard_id, num_shards):
        return jax_function(function, sharding=sharding)(fn.external_source(constant))
    return read(batch_size=4 * jax.device_count(), num_threads=2)

total = jax.jit(lambda x: x + x.sum())
"""

ENDS = {
    "before the first batch": "it = mixed(total); ready()",
    "with batches in flight": "it = mixed(total); next(it); ready()",
    "with batches held": "it = mixed(total); sys.held = [next(it) for _ in range(5)]; ready()",
    "after an exception in the function": """
        def broken(x): raise ValueError("gone")
        it = mixed(broken)
        try: next(it)
        except RuntimeError: ready()
        """,
    "interrupted in the function": """
        def slow(x):
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000): time.sleep(0.01)
        try: next(mixed(slow))
        except KeyboardInterrupt: ready()
        """,
    "inside a function on the thread for Python": """
        def slow(x): entered.set(); time.sleep(30); return x
        it = mixed(slow, None); entered.wait(); ready()
        """,
}


@pytest.mark.parametrize("name", ENDS)
def test_ends_within_two_seconds(name):
    code, rest, seconds = run(START + textwrap.dedent(ENDS[name]))
    assert code == 0, rest
    assert [line for line in rest.splitlines() if "still running" not in line] == []
    assert seconds < 2
