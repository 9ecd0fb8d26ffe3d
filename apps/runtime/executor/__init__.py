"""Where handlers run. The supervisor knows an executor only by `Executor`, so that child processes can stand in."""

from apps.runtime.executor.inprocess import InProcess
from apps.runtime.executor.run import Executor, Run, Stop

__all__ = ["Executor", "InProcess", "Run", "Stop"]
