"""What the demo says on a terminal."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from apps.demo.services.cast import PASSWORD, Cast
from apps.demo.services.pipeline import Pipeline
from apps.jobs.states import FINAL, JobState

ASKS = {"album": "   (approve it there: it waits for your word)"}
SAID = (
    JobState.COMPLETED,
    JobState.RUNNING,
    JobState.QUEUED,
    JobState.BLOCKED,
    JobState.AWAITING_APPROVAL,
    JobState.DEAD_LETTER,
)


@contextmanager
def bar(console: Console, jobs: int) -> Iterator[Callable[[Counter[str]], None]]:
    """A live bar of jobs that have ended, beside it how many are in each state."""
    columns = (
        TextColumn("[bold]Jobs"),
        BarColumn(bar_width=40),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[states]}"),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("jobs", total=jobs, states="")

        def seen(states: Counter[str]) -> None:
            ended = sum(states[state] for state in FINAL)
            said = ", ".join(f"{states[state]} {state.label.lower()}" for state in SAID if states[state])
            progress.update(task, completed=ended, states=said)

        yield seen


def outcome(counted: dict[str, float]) -> str:
    """One sentence."""
    failed = f", {counted['dead_letter']} ended as dead letters" if counted["dead_letter"] else ""
    asks = f", {counted['awaiting_approval']} waits for your word" if counted["awaiting_approval"] else ""
    return f"{counted['completed']} of {counted['jobs']} jobs completed{failed}{asks} in {counted['seconds']:.1f} s."


def doors(console: Console, *, address: str, token: str, cast: Cast, pipeline: Pipeline) -> None:
    """Where to look, and as whom. Lines, not a table: what is here is there to be copied whole."""
    say = partial(console.print, soft_wrap=True, highlight=False)
    say(f"\n[bold]Serving at {address}[/bold]\n")
    for email, role in cast.logins:
        say(f"  {'log in as' if role == 'owner' else '':<14} {email:<20} {role}")
    say(f"  {'password':<14} {PASSWORD}")
    say(f"  {'API token':<14} {token}   (submit and read, for a day)")
    for workflow in pipeline.workflows:
        say(f"  {'workflow':<14} {address}/workflows/{workflow}")
    for what, jobs in pipeline.shown.items():
        for job in jobs:
            say(f"  {what:<14} {address}/jobs/{job}{ASKS.get(what, '')}")
    say("\nCtrl-C ends it.")
