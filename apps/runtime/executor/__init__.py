"""Where handlers run. The supervisor knows an executor only by `Executor`, so that child processes can stand in."""

from apps.runtime.executor import capture
from apps.runtime.executor.forkserver import ForkServer
from apps.runtime.executor.inprocess import InProcess
from apps.runtime.executor.inside import main
from apps.runtime.executor.processes import Processes
from apps.runtime.executor.run import Executor, Run, Stop

__all__ = ["Executor", "ForkServer", "InProcess", "Processes", "Run", "Stop", "capture", "main"]
