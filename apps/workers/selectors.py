"""What a session said of its machine, in words."""

from dataclasses import dataclass
from typing import Any

from django.template.defaultfilters import filesizeformat


@dataclass(frozen=True, slots=True)
class Said:
    """A sample of processor, memory and disk. What is missing or no number is None: remote workers write their own."""

    percent: float | None
    load: float | None
    cores: float | None
    memory_total: float | None
    memory_available: float | None
    rss: float | None
    disk_total: float | None
    disk_free: float | None

    @classmethod
    def of(cls, sample: Any) -> "Said | None":
        """Read a sample; None where there is none."""
        if not isinstance(sample, dict):
            return None
        load = _part(sample, "processor").get("load")
        return cls(
            percent=_number(_part(sample, "processor").get("percent")),
            load=_number(load[0]) if isinstance(load, list) and load else None,
            cores=_number(_part(sample, "processor").get("cores")),
            memory_total=_number(_part(sample, "memory").get("total")),
            memory_available=_number(_part(sample, "memory").get("available")),
            rss=_number(_part(sample, "memory").get("rss")),
            disk_total=_number(_part(sample, "disk").get("total")),
            disk_free=_number(_part(sample, "disk").get("free")),
        )

    @property
    def words(self) -> list[str]:
        """Processor, memory, disk, as far as they are known."""
        said = []
        if self.percent is not None:
            said.append(f"processor {self.percent:.0f} %" + (f" of {self.cores:.0f} cores" if self.cores else ""))
        if self.load is not None:
            said.append(f"load {self.load:.2f}")
        if self.rss is not None:
            said.append(f"uses {_size(self.rss)}")
        if self.memory_available is not None:
            said.append(f"{_size(self.memory_available)} of {_size(self.memory_total)} memory free")
        if self.disk_free is not None:
            said.append(f"{_size(self.disk_free)} of {_size(self.disk_total)} disk free")
        return said


def _part(sample: dict[str, Any], name: str) -> dict[str, Any]:
    part = sample.get(name)
    return part if isinstance(part, dict) else {}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _size(value: float | None) -> str:
    """12.3 GB; the space in it does not break."""
    return str(filesizeformat(value)) if value is not None else "?"
