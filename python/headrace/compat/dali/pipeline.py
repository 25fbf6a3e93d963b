"""Stands for nvidia.dali.pipeline, which has the decorators too."""

from headrace.conditionals import do_not_convert
from headrace.data_node import DataNode
from headrace.pipeline import Pipeline
from headrace.pipeline_function import pipeline_def

__all__ = ["DataNode", "Pipeline", "do_not_convert", "pipeline_def"]
