"""Import `handlers.py` and `loops.py` of every installed app."""

from collections.abc import Iterable
from importlib import import_module

from django.apps import apps
from django.utils.module_loading import autodiscover_modules, module_has_submodule

from apps.handlers import Loop


def handlers() -> None:
    """Fill the registry. An error in an app's handlers.py is raised: half a worker would burn attempts."""
    autodiscover_modules("handlers")


def loops(only: Iterable[str] = ()) -> list[Loop]:
    """Every LOOPS entry, or those named. Raises ValueError naming the ones that do not exist."""
    found: list[Loop] = []
    for config in apps.get_app_configs():
        if config.module is not None and module_has_submodule(config.module, "loops"):
            found += import_module(f"{config.name}.loops").LOOPS
    wanted = set(only)
    missing = wanted - {loop.name for loop in found}
    if missing:
        names = ", ".join(sorted(loop.name for loop in found))
        raise ValueError(f"There is no loop {', '.join(sorted(missing))}; there are {names}.")
    return [loop for loop in found if not wanted or loop.name in wanted]
