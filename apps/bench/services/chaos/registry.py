"""The register of faults. Each strikes, takes itself back, and answers how much it bit: 0 is a miss."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from apps.bench.services.chaos.stage import Stage

type Strikes = Callable[[Stage, Random], int]


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    says: str
    strike: Strikes
    one: bool  # strikes one process, and says itself which
    brief: bool  # takes no time, and so may strike in the middle of another


FAULTS: dict[str, Fault] = {}


def fault(name: str, *, one: bool = False, brief: bool = False) -> Callable[[Strikes], Strikes]:
    def register(strike: Strikes) -> Strikes:
        FAULTS[name] = Fault(name, str(strike.__doc__).partition("\n")[0], strike, one, brief)
        return strike

    return register
