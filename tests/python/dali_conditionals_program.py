"""Prints what conditionals of many forms do; run by test_conditionals.py with DALI and with headrace."""
# ruff: noqa: B007, F841, SIM108, E731

import conditionals_module as hm
import numpy as np
import nvidia.dali as dali
from nvidia.dali import fn, pipeline_def, types

PREDICATES = [np.bool_(v) for v in (1, 0, 1, 0, 0, 1)]
NUMBERS = [np.int32(v) for v in range(6)]
cases = []


def case(function):
    cases.append(function)
    return function


def run(function):
    make = pipeline_def(batch_size=6, num_threads=1, device_id=None, enable_conditionals=True, seed=1)(function)
    try:
        pipe = make()
        pipe.build()
        outputs = pipe.run()
        rows = [[np.asarray(out[i]).tolist() for i in range(len(out))] for out in outputs]
        print(function.__name__, rows, [str(out.dtype) for out in outputs])
    except Exception as error:
        print(function.__name__, "raises", type(error).__name__)


def pred():
    return fn.external_source(lambda: PREDICATES)


def num():
    return fn.external_source(lambda: NUMBERS)


class Obj:
    pass


@case
def basic():
    p, n = pred(), num()
    if p:
        x = n + 1
    else:
        x = n * 10
    return x


@case
def no_else():
    p, n = pred(), num()
    if p:
        n = n + 100
    return n


@case
def elifs():
    n = num()
    if n < 2:
        r = n
    elif n == 3:
        r = n + 30
    elif n == 4:
        r = n + 40
    else:
        r = n - 100
    return r


@case
def consts():
    p = pred()
    if p:
        r = 1
    else:
        r = 2
    return r


@case
def consts_mixed():
    p = pred()
    if p:
        r = 1
    else:
        r = 2.0
    return r


@case
def const_node():
    p, n = pred(), num()
    if p:
        r = 1
    else:
        r = n
    return r


@case
def const_arr():
    p = pred()
    if p:
        r = np.uint8([3, 3])
    else:
        r = np.uint8([4])
    return r


@case
def const_list():
    p = pred()
    if p:
        r = [1, 2]
    else:
        r = [3, 4]
    return r[0] if isinstance(r, (list, tuple)) else r


@case
def const_equal():
    p = pred()
    if p:
        r = 5
    else:
        r = 5
    return r


@case
def const_str():
    p, n = pred(), num()
    if p:
        s = "a"
        n = n + 1
    else:
        s = "b"
        n = n + 2
    return n


@case
def missing():
    p, n = pred(), num()
    if p:
        x = n + 1
    return x


@case
def missing_unused():
    p, n = pred(), num()
    if p:
        x = n + 1
        n = x * 2
    return n


@case
def none_one():
    p, n = pred(), num()
    x = None
    if p:
        x = n + 1
    return x


@case
def tuple_assign():
    p, n = pred(), num()
    if p:
        a, b = n, n + 1
    else:
        a, b = n + 10, n + 20
    return a, b


@case
def tuple_value():
    p, n = pred(), num()
    if p:
        t = (n, n + 1)
    else:
        t = (n + 10, n + 20)
    return t


@case
def list_value():
    p, n = pred(), num()
    if p:
        t = [n, n + 1]
    else:
        t = [n + 10, n + 20]
    return t[0], t[1]


@case
def dict_value():
    p, n = pred(), num()
    if p:
        t = {"a": n, "b": n + 1}
    else:
        t = {"a": n + 10, "b": n + 20}
    return t["a"], t["b"]


@case
def list_len():
    p, n = pred(), num()
    if p:
        t = [n, n + 1]
    else:
        t = [n + 10]
    return t[0]


@case
def dict_entry():
    p, n = pred(), num()
    d = {}
    if p:
        d["x"] = n
    else:
        d["x"] = n + 10
    return d["x"]


@case
def dict_entry_pre():
    p, n = pred(), num()
    d = {"x": n}
    if p:
        d["x"] = n + 5
    return d["x"]


@case
def dict_entry_miss():
    p, n = pred(), num()
    d = {}
    if p:
        d["x"] = n + 5
    return d["x"]


@case
def list_entry():
    p, n = pred(), num()
    d = [n, n]
    if p:
        d[0] = n + 5
    return d[0], d[1]


@case
def attr():
    p, n = pred(), num()
    o = Obj()
    if p:
        o.x = n
    else:
        o.x = n + 10
    return o.x


@case
def attr_pre():
    p, n = pred(), num()
    o = Obj()
    o.x = n
    if p:
        o.x += 10
    return o.x


@case
def augmented():
    p, n = pred(), num()
    if p:
        n += 10
    else:
        n *= 2
    return n


@case
def ret_both():
    p, n = pred(), num()
    if p:
        return n
    else:
        return n + 10


@case
def ret_early():
    p, n = pred(), num()
    if p:
        return n
    n = n + 10
    return n


@case
def ret_tuple():
    p, n = pred(), num()
    if p:
        return n, n + 1
    return n + 10, n + 20


@case
def ret_tuple_len():
    p, n = pred(), num()
    if p:
        return n, n + 1
    return n + 10


@case
def ret_missing():
    p, n = pred(), num()
    if p:
        return n


@case
def plain_if():
    n = num()
    if True:
        x = n
    else:
        x = n + 1
    return x


@case
def and_():
    p, n = pred(), num()
    if p and n > 1:
        n = n + 100
    return n


@case
def and_val():
    p, n = pred(), num()
    return p and n > 1


@case
def or_val():
    p, n = pred(), num()
    return p or n > 3


@case
def not_val():
    return not pred()


@case
def not_num():
    return not num()


@case
def and_num():
    p, n = pred(), num()
    return p and n


@case
def and_three():
    p, n = pred(), num()
    return p and n > 1 and n < 5


@case
def and_py_left():
    p = pred()
    flag = True
    return flag and p


@case
def and_py_right():
    p = pred()
    flag = True
    return p and flag


@case
def or_py_right_none():
    p = pred()
    flag = None
    return p or flag


@case
def and_py_py():
    n = num()
    lst = []
    if lst and lst[0]:
        n = n + 1
    return n


@case
def lazy_and():
    p, n = pred(), num()
    return p and fn.element_extract(fn.stack(n, n), element_map=[0]) == 0


@case
def num_pred():
    n = num()
    if n:
        n = n + 100
    return n


@case
def nan_pred():
    n = num()
    f = dali.math.sqrt(-1.0 * fn.cast(n, dtype=types.FLOAT))
    if f:
        n = n + 100
    return n


@case
def vec_pred():
    n = num()
    if fn.stack(n, n):
        n = n + 100
    return n


@case
def gpu_pred():
    p, n = pred(), num()
    if p.gpu():
        n = n + 100
    return n


@case
def gpu_and():
    p, n = pred(), num()
    return p and p.gpu()


@case
def types_differ():
    p, n = pred(), num()
    if p:
        x = n
    else:
        x = fn.cast(n, dtype=types.FLOAT)
    return x


@case
def layout_differ():
    p, n = pred(), num()
    s = fn.stack(n, n)
    if p:
        x = fn.reshape(s, layout="A")
    else:
        x = fn.reshape(s, layout="B")
    return x


@case
def ifexp():
    p, n = pred(), num()
    return n if p else n + 1


@case
def while_py():
    n = num()
    i = 0
    while i < 3:
        if n > 2:
            n = n + i
        i += 1
    return n


@case
def assert_():
    p, n = pred(), num()
    assert p
    return n


@case
def compr():
    p, n = pred(), num()
    return tuple(x for x in [n, n + 1] if p)


@case
def for_loop():
    n = num()
    for i in range(3):
        if n == i:
            n = n + 10 * (i + 1)
    return n


@case
def for_continue():
    n = num()
    for i in range(3):
        if n == i:
            continue
        n = n + 100
    return n


@case
def for_return_py():
    n = num()
    for i in range(3):
        if i == 1:
            return n + 100
    return n


@case
def try_in_branch():
    p, n = pred(), num()
    if p:
        try:
            n = n + 1
        finally:
            n = n + 10
    return n


@case
def helper_other_module():
    return hm.relu10(num())


@case
def helper_lambda():
    f = lambda x: not x
    return f(pred())


@case
def helper_closure():
    p = pred()

    def inner(x):
        if p:
            x = x + 10
        return x

    return inner(num())


@case
def helper_method():
    return hm.Aug(5).apply(num())


@case
def helper_callable_obj():
    return hm.Aug(5)(num())


@case
def helper_decorated():
    return hm.decorated(num())


@case
def helper_dnc_if():
    return hm.dnc_if(num())


@case
def helper_kw():
    def f(x, *args, y=3, **kw):
        if x > 2:
            x = x + y + kw["z"] + args[0]
        return x

    return f(num(), 5, z=100)


@case
def helper_recursive():
    def f(x, d):
        if d == 0:
            return x
        if x > d:
            x = x + 10
        return f(x, d - 1)

    return f(num(), 3)


@case
def helper_in_branch():
    p, n = pred(), num()
    if p:
        n = hm.relu10(n)
    return n


@case
def source_in_branch():
    p, n = pred(), num()
    if p:
        n = num() + 1
    return n


@case
def const_in_branch():
    p, n = pred(), num()
    if p:
        n = fn.constant(idata=7, shape=[])
    return n


@case
def random_in_branch():
    p, n = pred(), num()
    if p:
        n = fn.cast(fn.random.uniform(range=[5, 5.00001]), dtype=types.INT32)
    return n


@case
def walrus():
    p, n = pred(), num()
    if q := n > 2:
        n = n + 10
    return n, q


@case
def nested_deep():
    p, n = pred(), num()
    a = n * 2
    if p:
        b = a + 1
        if n > 1:
            c = a + b
            if n > 4:
                c = c + n
            b = c
        r = b
    else:
        r = a
    return r


@case
def isnone_node():
    n = num()
    x = n
    if x is not None:
        n = n + 1
    if x is None:
        n = n + 50
    return n


@case
def chain_cmp():
    n = num()
    return 1 < n < 4


@case
def in_tuple():
    n = num()
    return n in (1, 2)


@case
def def_in_branch():
    p, n = pred(), num()
    if p:

        def g(x):
            return x + 1

        n = g(n)
    return n


@case
def super_call():
    return hm.Sub(3).apply(num())


@case
def str_used():
    p, n = pred(), num()
    if p:
        s = "a"
    else:
        s = "b"
    return n + len(s)


@case
def obj_used():
    p, n = pred(), num()
    o = Obj()
    if p:
        o = Obj()
        o.x = n
    else:
        o = Obj()
        o.x = n + 1
    return o.x


@case
def nested_continue():
    p, n = pred(), num()
    for i in range(2):
        if p:
            if n > 2:
                continue
            n = n + 10
        n = n + 100
    return n


@case
def none_both_branches_return():
    p, n = pred(), num()

    def f():
        if p:
            return None
        else:
            return None

    f()
    return n


@case
def nested_return_ok():
    n = num()
    if n < 3:
        if n == 1:
            return n + 100
        else:
            return n + 10
    return n


@case
def empty_true():
    n = num()
    if n > 100:
        n = fn.permute_batch(n, indices=[5, 4, 3, 2, 1, 0])
    return n


@case
def split_as_outputs():
    return tuple(fn._conditional.split(num(), predicate=pred()))


if __name__ == "__main__":
    for each in cases:
        run(each)
