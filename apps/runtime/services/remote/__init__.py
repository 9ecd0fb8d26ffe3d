"""What workers do that join over HTTP: begin a session, take jobs, report how they ended, leave.

The heartbeat is the engine's own verb, and stands beside them. All of it is fenced like a local worker's: each write
shows session and fence, and the database decides.
"""

from apps.runtime.services.remote.beat import beat
from apps.runtime.services.remote.begin import begin
from apps.runtime.services.remote.leave import hand_back, leave
from apps.runtime.services.remote.report import settle
from apps.runtime.services.remote.take import Taken, take
from apps.runtime.services.remote.wish import WISH, Wish

__all__ = ["WISH", "Taken", "Wish", "beat", "begin", "hand_back", "leave", "settle", "take"]
