"""Functions that the program of conditionals calls: they stand in another module than the pipelines."""

import functools

from nvidia.dali.pipeline import do_not_convert


def relu10(x):
    if x > 2:
        return x + 10
    return x


def add_if(x, amount=1):
    if x > 2:
        x = x + amount
    return x


class Aug:
    def __init__(self, k):
        self.k = k

    def apply(self, x):
        if x > 2:
            x = x + self.k
        return x

    def __call__(self, x):
        if x > 2:
            x = x + self.k
        return x

    @staticmethod
    def stat(x):
        if x > 2:
            x = x + 1
        return x


class Sub(Aug):
    def apply(self, x):
        x = super().apply(x)
        if x > 5:
            x = x + 100
        return x


class Prop:
    def __init__(self, n):
        self.n = n

    @property
    def value(self):
        if self.n > 2:
            return self.n
        return self.n + 5


def deco(f):
    @functools.wraps(f)
    def w(*a, **k):
        return f(*a, **k) + 1000

    return w


@deco
def decorated(x):
    if x > 2:
        x = x + 10
    return x


@do_not_convert
def dnc(x):
    return x + 1


@do_not_convert
def dnc_if(x):
    if x > 2:
        return x
    return x + 1


def gen(x):
    for i in range(2):
        if x > i:
            x = x + 1
        yield x


def sel(a, b):
    if a > b:
        return a
    return b
