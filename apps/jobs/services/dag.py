"""The jobs of a workflow as they are submitted: their local names, and an order in which parents come first."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.errors import BadInput, Fault
from apps.jobs.services.check import STEP_RULES, look, refuse


@dataclass(frozen=True, slots=True)
class Node:
    """One job: what it is called, where it goes, and what it waits for, in the call (by place) and outside (by id)."""

    place: int
    name: str
    queue: Any
    fields: Mapping[str, Any]  # of the job itself
    parents: list[int]
    outside: Mapping[int, Any]  # by its number in depends_on


def read(jobs: Sequence[Mapping[str, Any]]) -> list[Node]:
    """Resolve local names; raises BadInput at "#/jobs/<n>/…" naming all that are missing, double or unknown."""
    faults: list[Fault] = []
    names = [_named(job, f"#/jobs/{place}", faults) for place, job in enumerate(jobs)]
    places: dict[str, int] = {}
    for place, (name, _) in enumerate(names):
        if name and places.setdefault(name, place) != place:
            faults.append(Fault(f"#/jobs/{place}/name", f"Job {places[name]} has this name."))
    nodes = [
        Node(place, name, queue, *_split(job, place, places, faults))
        for place, (job, (name, queue)) in enumerate(zip(jobs, names, strict=True))
    ]
    refuse(faults)
    return nodes


def _named(job: Mapping[str, Any], pointer: str, faults: list[Fault]) -> tuple[str, Any]:
    """Its name and queue; whatever is wrong with them is added to the faults."""
    named = {field: job[field] for field in STEP_RULES if field in job}
    if isinstance(queue := named.get("queue"), UUID):
        named["queue"] = str(queue)
    checked, wrong = look(named, STEP_RULES, required="name", pointer=pointer)
    if job.get("queue") is None:
        wrong.append(Fault(f"{pointer}/queue", "This must be given."))
    faults += wrong
    return checked.get("name", ""), checked.get("queue", "")


def _split(
    job: Mapping[str, Any], place: int, places: Mapping[str, int], faults: list[Fault]
) -> tuple[dict[str, Any], list[int], Mapping[int, Any]]:
    """The fields of the job itself, and its parents: those of the call, and those that must be there already."""
    fields = {name: value for name, value in job.items() if name not in (*STEP_RULES, "depends_on")}
    named = job.get("depends_on") or ()
    if not isinstance(named, list | tuple):
        return {**fields, "depends_on": named}, [], {}  # refused with the other fields
    try:  # the plain case, in a tenth of the time
        inside = dict.fromkeys([places[parent] for parent in named])
        if place not in inside:
            return fields, list(inside), {}
    except (KeyError, TypeError):
        pass
    return fields, *_sorted_out(named, place, places, faults)


def _sorted_out(
    named: Sequence[Any], place: int, places: Mapping[str, int], faults: list[Fault]
) -> tuple[list[int], Mapping[int, Any]]:
    """Local names apart from ids, each parent once; what is neither is added to the faults."""
    inside: dict[int, None] = {}
    outside = {}
    for number, parent in enumerate(named):
        found = places.get(parent) if isinstance(parent, str) else None
        if found == place:
            faults.append(Fault(f"#/jobs/{place}/depends_on/{number}", "A job cannot wait for itself."))
        elif found is not None:
            inside[found] = None
        elif _is_id(parent):
            outside[number] = parent
        else:
            faults.append(Fault(f"#/jobs/{place}/depends_on/{number}", "No job of this call has this name."))
    return list(inside), outside


def _is_id(value: Any) -> bool:
    try:
        return isinstance(value, UUID) or bool(UUID(value))
    except (ValueError, TypeError, AttributeError):
        return False


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """Parents before children, otherwise as given. Raises BadInput naming a cycle: a → b → c → a."""
    children: list[list[int]] = [[] for _ in nodes]
    waits = [len(node.parents) for node in nodes]
    for node in nodes:
        for parent in node.parents:
            children[parent].append(node.place)
    ready = deque(node.place for node in nodes if not node.parents)
    ordered = []
    while ready:
        place = ready.popleft()
        ordered.append(nodes[place])
        for child in children[place]:
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
    if len(ordered) < len(nodes):
        _refuse_cycle(nodes, {place for place, count in enumerate(waits) if count})
    return ordered


def _refuse_cycle(nodes: Sequence[Node], left: set[int]) -> None:
    """Whatever is left has a parent that is left: walking up from any of them ends in a circle."""
    seen: dict[int, int] = {}
    place = min(left)
    while place not in seen:
        seen[place] = len(seen)
        place = next(parent for parent in nodes[place].parents if parent in left)
    circle = [one for one in seen if seen[one] >= seen[place]][::-1]  # parents first
    first = circle.index(min(circle))
    path = [*circle[first:], *circle[:first], circle[first]]
    named = " → ".join(nodes[one].name for one in path)
    raise BadInput.at(f"#/jobs/{path[0]}/depends_on", f"These jobs wait for each other: {named}.")
