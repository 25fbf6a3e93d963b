"""The engine's messages reach the logger "headrace"."""

import functools
import logging
import time

import numpy as np

from headrace import Pipeline, fn, group


def slow(data):
    time.sleep(0.5)
    return data


def run_slowly(monkeypatch, stall_report_seconds):
    patient = functools.partial(group._core.Executor, stall_report_seconds=stall_report_seconds)
    monkeypatch.setattr(group._core, "Executor", patient)
    pipe = Pipeline(1, 1, prefetch_queue_depth=1)
    with pipe:
        data = fn.external_source(source=lambda: [np.zeros(1)])
        pipe.set_outputs(fn.python_function(data, function=slow))
    pipe.run()


def test_a_stall_is_logged_once_with_what_is_unfinished(monkeypatch, caplog):
    with caplog.at_level(logging.WARNING, "headrace"):
        run_slowly(monkeypatch, 0.1)
    (message,) = [record.getMessage() for record in caplog.records if "no batch for" in record.getMessage()]
    assert "python_function" in message


def test_without_a_stall_nothing_is_logged(monkeypatch, caplog):
    with caplog.at_level(logging.WARNING, "headrace"):
        run_slowly(monkeypatch, 30.0)
    assert not [record for record in caplog.records if "no batch for" in record.getMessage()]
