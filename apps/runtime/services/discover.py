"""Import `handlers.py` and `loops.py` of every installed app."""

import traceback
from collections.abc import Iterable
from importlib import import_module

from django.apps import apps
from django.utils.module_loading import module_has_submodule

from apps.errors import Refusal
from apps.handlers import Loop


def handlers() -> None:
    """Fill the registry. Raises a Refusal naming a module that does not import: half a worker would keep jobs waiting."""
    for config in apps.get_app_configs():
        if config.module is not None and module_has_submodule(config.module, "handlers"):
            _import(f"{config.name}.handlers")


def _import(name: str) -> None:
    try:
        import_module(name)
    except (Exception, SystemExit) as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        said = f"{type(error).__name__}: {error}"
        raise Refusal(f"{name} cannot be imported: {said} ({last.filename}, line {last.lineno})") from error


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
