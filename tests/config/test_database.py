"""How the environment becomes a connection."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SAY = """
import json
from config import settings
print(json.dumps(settings.DATABASES['default'], default=lambda call: call.__name__))
"""


def database(before: str = "", **environment: str) -> Any:
    """The database's settings as a new process reads them."""
    done = subprocess.run(
        [sys.executable, "-c", before + SAY],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": "postgres://ann:secret@db.example.com/fencepost"} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_commands_never_pool():
    assert "pool" not in database(DB_POOL_SIZE="7", CONN_MAX_AGE="60")["OPTIONS"]


def test_a_web_process_pools_and_keeps_no_connection_beside_the_pool():
    web = database("import config.wsgi", DB_POOL_SIZE="7", CONN_MAX_AGE="60")
    patience = {"timeout": 5, "reconnect_timeout": 5}
    assert web["OPTIONS"]["pool"] == {"min_size": 1, "max_size": 7, "check": "check", **patience}
    assert web["CONN_MAX_AGE"] == 0


def test_a_dead_peer_is_noticed_and_the_address_may_say_otherwise():
    options = database()["OPTIONS"]
    assert {"keepalives_idle": 5, "tcp_user_timeout": 5000, "connect_timeout": 2}.items() <= options.items()
    url = "postgres://ann@db.example.com/fencepost?sslmode=verify-full&connect_timeout=9"
    changed = database(DATABASE_URL=url)["OPTIONS"]
    assert (changed["sslmode"], int(changed["connect_timeout"])) == ("verify-full", 9)


def test_an_old_pooler_gets_no_prepared_statements():
    assert database()["OPTIONS"]["prepare_threshold"] == 5
    assert database(DB_PREPARE_THRESHOLD="")["OPTIONS"]["prepare_threshold"] is None


def test_a_socket_is_an_address_too():
    assert database(DATABASE_URL="postgres://postgres:@//run/my%20socket/jobs")["HOST"] == "/run/my socket"
