"""Loading operators that were built outside headrace."""

__all__ = ["load_library"]


def load_library(library_path: str, global_symbols: bool = False) -> None:
    """Loads a library with operators. Not available yet: raises NotImplementedError."""
    raise NotImplementedError(
        f"plugin_manager.load_library({library_path!r}): operators built out of tree cannot be loaded yet"
    )
