"""Stands for nvidia.dali.pipeline.experimental: the name that pipeline_def had when conditionals were new."""

from headrace.pipeline_function import pipeline_def

__all__ = ["pipeline_def"]
