"""Pages of docs/ that are drawn from the code: the states of a job, and the tables."""

from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.db.models import Field, ForeignKey, Model

from apps.jobs.states import LIVE, MOVES, JobState

ROOMS = ("accounts", "queues", "workers", "jobs", "audit")


def pages() -> dict[str, str]:
    """Every drawn page, by the name of its file."""
    return {"states.md": states(), "schema.md": schema()}


def states() -> str:
    """The states and the moves between them; each arrow names the verbs that may make it."""
    arrows = [
        f"    {'[*]' if old is None else old.value} --> {new.value}: {', '.join(sorted(verbs))}"
        for (old, new), verbs in MOVES.items()
    ]
    ends = [f"    {state.value} --> [*]" for state in JobState if state not in LIVE]
    rows = [
        f"| `{'–' if old is None else old.value}` | `{new.value}` | {', '.join(f'`{verb}`' for verb in sorted(verbs))} |"
        for (old, new), verbs in MOVES.items()
    ]
    return "\n".join(
        [
            "# The states of a job",
            "",
            "Drawn from `apps/jobs/states.py` by `make diagram`; do not edit. A verb is a file in `apps/jobs/engine/`.",
            "In test databases triggers refuse every other move (`tests/guard.py`).",
            "",
            "```mermaid",
            "stateDiagram-v2",
            *arrows,
            *ends,
            "```",
            "",
            "| from | to | by |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def schema() -> str:
    """Every table with its columns, and the arrows between them that the database enforces."""
    models = [model for room in ROOMS for model in apps.get_app_config(room).get_models()]
    return "\n".join(
        [
            "# The tables",
            "",
            "Drawn from the models by `make diagram`; do not edit. Arrows are foreign keys in the database: hot and",
            "historical tables have none: they hold plain ids, for a hot row must not lock a configuration row.",
            "",
            "```mermaid",
            "erDiagram",
            *_arrows(models),
            "```",
            "",
            *(line for room in ROOMS for line in _room(room)),
        ]
    )


def _arrows(models: Iterable[type[Model]]) -> list[str]:
    return sorted(
        f"    {field.related_model._meta.db_table} ||--o{{ {model._meta.db_table} : {field.name}"
        for model in models
        for field in model._meta.local_fields
        if isinstance(field, ForeignKey) and _is_enforced(field)
    )


def _room(room: str) -> list[str]:
    lines = [f"## {room}", ""]
    for model in sorted(apps.get_app_config(room).get_models(), key=lambda model: model._meta.db_table):
        says = (model.__doc__ or "").strip().splitlines()[0] if model.__doc__ else ""
        if says.startswith(f"{model.__name__}("):
            says = ""  # Django's own, where there is none
        lines += [f"### {model._meta.db_table}", "", *([says, ""] if says else [])]
        lines += ["| column | type | NULL | points to |", "|---|---|---|---|"]
        lines += [_row(field) for field in model._meta.local_concrete_fields]
        lines.append("")
    return lines


def _row(field: "Field[Any, Any]") -> str:
    target = ""
    if isinstance(field, ForeignKey):
        target = field.related_model._meta.db_table + ("" if _is_enforced(field) else " (not enforced)")
    return f"| {field.column} | {_type(field)} | {'yes' if field.null else ''} | {target} |"


def _is_enforced(field: "ForeignKey[Any, Any]") -> bool:
    return bool(field.db_constraint)  # type: ignore[attr-defined]


def _type(field: "Field[Any, Any]") -> str:
    kind = field.target_field if isinstance(field, ForeignKey) else field
    name = kind.get_internal_type().removesuffix("Field")
    length = getattr(kind, "max_length", None)
    return f"{name}({length})" if length and name in {"Char", "Email"} else name
