"""Clear away the folders of jobs and workflows that are over, those too that an earlier boot has left."""

import asyncio

import psycopg
import structlog

from apps.jobs.engine.workspaces import Over, over
from apps.runtime.executor import workspace
from apps.runtime.supervisor.wire import Wire
from apps.sql import Trouble, trouble

EVERY = 5.0  # seconds
AT_ONCE = 500  # folders that are asked for together

log = structlog.get_logger("fencepost.worker")


class Tidying:
    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        while True:
            try:
                await self.tidy()
            except (psycopg.Error, OSError) as error:
                if trouble(error) is Trouble.FATAL:  # of a database that is away the claims tell
                    log.warning("workspaces not cleared", error=str(error).strip())
            await asyncio.sleep(EVERY)

    async def tidy(self) -> None:
        """Ask what is over of all there is, and remove that."""
        kept = await asyncio.to_thread(workspace.kept)
        for start in range(0, len(kept), AT_ONCE):
            some = kept[start : start + AT_ONCE]
            for folder in await self._over(some):
                await asyncio.to_thread(workspace.clear, folder)

    async def _over(self, kept: list[Over]) -> list[Over]:
        flows = [one for one in kept if one.generation is not None]
        return await self.wire.send(
            lambda connection: over.on(
                connection,
                workflows=[one.id for one in flows],
                generations=[one.generation for one in flows],
                jobs=[one.id for one in kept if one.generation is None],
            )
        )
