"""What a benchmark prints: its figures, and beside them what they were measured with."""

import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.bench.services.ground import Ground


@dataclass
class Rounds:
    """The same figures measured several times."""

    taken: dict[str, list[float]] = field(default_factory=dict)

    def add(self, **figures: float) -> None:
        for name, value in figures.items():
            self.taken.setdefault(name, []).append(value)

    def medians(self) -> dict[str, float]:
        return {name: _short(statistics.median(values)) for name, values in self.taken.items()}

    def each(self) -> dict[str, list[float]]:
        """Every round, so that the noise can be seen."""
        return {name: [_short(value) for value in values] for name, values in self.taken.items()}


def told(ground: Ground, rounds: Rounds, *, unit: str, load: Sequence[float], **how: object) -> dict[str, Any]:
    """One JSON object. `load` is the load average before the first round."""
    return {
        **rounds.medians(),
        "unit": unit,
        "settings": {**how, "cpus": os.cpu_count(), "server": ground.server, "rounds": rounds.each()},
        "postgres": ground.postgres,
        "load": [round(value, 2) for value in load],
    }


def percentile(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def as_text(figures: Mapping[str, Any]) -> str:
    """For people."""
    shown = {name: value for name, value in figures.items() if name not in ("settings", "load")}
    width = max(map(len, shown))
    lines = [
        f"{name:<{width}}  {value:>12,}" if isinstance(value, float | int) else f"{name:<{width}}  {value}"
        for name, value in shown.items()
    ]
    return "\n".join([*lines, f"{'load':<{width}}  {figures['load']}"])


def _short(value: float) -> float:
    return round(value) if abs(value) >= 1000 else float(f"{value:.4g}")
