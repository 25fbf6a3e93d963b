"""PipelineGraph: what Pipeline.graph() gives."""

import shutil
import subprocess


class PipelineGraph(str):
    """A pipeline's graph as Graphviz source; notebooks show it as a picture if the program ``dot`` is installed."""

    def svg(self) -> str | None:
        """The picture, or None without ``dot``."""
        if shutil.which("dot") is None:
            return None
        return subprocess.run(["dot", "-Tsvg"], input=self, capture_output=True, text=True, check=True).stdout

    def _repr_svg_(self) -> str | None:
        return self.svg()
