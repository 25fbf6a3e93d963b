"""The import hook: which module of headrace stands for which module of DALI."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
from collections.abc import Sequence
from types import ModuleType

# Modules of DALI -> modules of headrace. What is below `fn` and `ops` follows from the operators.
_MODULES = {
    "nvidia.dali": "headrace",
    "nvidia.dali.backend": "headrace.compat.dali.backend",
    "nvidia.dali.backend_impl": "headrace.compat.dali.backend",
    "nvidia.dali.backend_impl.types": "headrace.types",
    "nvidia.dali.data_node": "headrace.data_node",
    "nvidia.dali.fn": "headrace.fn",
    "nvidia.dali.math": "headrace.math",
    "nvidia.dali.ops": "headrace.ops",
    "nvidia.dali.pipeline": "headrace.compat.dali.pipeline",
    "nvidia.dali.pipeline.experimental": "headrace.compat.dali.pipeline_experimental",
    "nvidia.dali.plugin": "headrace.plugin",
    "nvidia.dali.plugin.base_iterator": "headrace.plugin.base_iterator",
    "nvidia.dali.plugin.jax": "headrace.plugin.jax",
    "nvidia.dali.plugin.jax.clu": "headrace.plugin.jax.clu",
    "nvidia.dali.plugin.jax.fn": "headrace.plugin.jax.fn",
    "nvidia.dali.plugin.jax.integration": "headrace.plugin.jax.integration",
    "nvidia.dali.plugin.jax.iterator": "headrace.plugin.jax.iterator",
    "nvidia.dali.plugin.pytorch": "headrace.plugin.pytorch",
    "nvidia.dali.plugin_manager": "headrace.plugin_manager",
    "nvidia.dali.sysconfig": "headrace.sysconfig",
    "nvidia.dali.tensors": "headrace.tensors",
    "nvidia.dali.types": "headrace.types",
}
_FAMILIES = ("nvidia.dali.fn.", "nvidia.dali.ops.")

# What an import statement sets on each module by itself.
_OWN_ATTRIBUTES = {"__name__", "__loader__", "__package__", "__spec__", "__path__", "__builtins__", "__cached__"}


def _target_of(name: str) -> str | None:
    if name in _MODULES:
        return _MODULES[name]
    if name.startswith(_FAMILIES):
        return "headrace." + name.removeprefix("nvidia.dali.")
    return None


class AliasFinder(importlib.abc.MetaPathFinder):
    """Finds `nvidia.dali` and the modules below it, and nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "nvidia.dali" and not fullname.startswith("nvidia.dali."):
            return None
        target_name = _target_of(fullname)
        if target_name is None:
            raise ModuleNotFoundError(f"headrace has no module for {fullname} (DALI may have)", name=fullname)
        # Every alias may have modules below it, which this finder finds: it needs no search path.
        return importlib.machinery.ModuleSpec(fullname, _AliasLoader(target_name), is_package=True)


class _AliasLoader(importlib.abc.Loader):
    """Gives the alias module the attributes of the module that it stands for."""

    def __init__(self, target_name: str):
        self._target_name = target_name

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        try:
            target = importlib.import_module(self._target_name)
        except ModuleNotFoundError as error:
            if error.name != self._target_name:
                raise
            message = f"headrace has no module for {module.__name__} (DALI may have)"
            raise ModuleNotFoundError(message, name=module.__name__) from None
        for name, value in vars(target).items():
            if name not in _OWN_ATTRIBUTES and not isinstance(value, ModuleType):
                setattr(module, name, value)
        fallback = getattr(target, "__getattr__", None)

        def module_getattr(name: str) -> object:
            below = f"{module.__name__}.{name}"
            if _target_of(below) is not None:
                try:
                    return importlib.import_module(below)
                except ModuleNotFoundError:
                    pass
            if name in vars(target):
                return vars(target)[name]
            if fallback is not None:
                return fallback(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)

        module.__getattr__ = module_getattr  # type: ignore[method-assign]


class EmptyNamespaceFinder(importlib.abc.MetaPathFinder):
    """The last resort for `import nvidia` where no package of that namespace is installed: an empty one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "nvidia":
            return None
        return importlib.machinery.ModuleSpec(fullname, None, is_package=True)
