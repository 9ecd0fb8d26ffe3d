"""How log lines look: for people on a console, as JSON for machines; both carry what the context knows."""

import io
import logging
import re
import sys
from typing import Any, TextIO

import structlog
from structlog.types import EventDict, ExcInfo, Processor

from apps.errors import printable


def _in_one_colour(logger: Any, method: str, line: EventDict) -> EventDict:
    """Uvicorn gives each message of its own twice, the second one with escapes."""
    line.pop("color_message", None)
    return line


_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,  # request_id, job_id … bound by whoever began the work
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(),
    _in_one_colour,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]

# Who writes a line for a request: Django for a refusal, the servers for each.
_TELL_OF_REQUESTS = ("django.request", "django.server", "django.channels.server", "uvicorn.access")
_PROBE = re.compile(r"[ :] ?/(livez|readyz|metrics)\b")


def _is_no_probe(record: logging.LogRecord) -> bool:
    """Probes come every few seconds, for ever; what they find is logged when it changes, and what breaks at once."""
    return bool(record.exc_info) or not _PROBE.search(record.getMessage())


def configure(*, level: str, form: str) -> dict[str, Any]:
    """Set structlog up to go through the standard library, and return Django's LOGGING for it."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    for name in _TELL_OF_REQUESTS:
        logging.getLogger(name).addFilter(_is_no_probe)
    return _django_logging(level, _renderers(form))


def _renderers(form: str) -> list[Processor]:
    """Tracebacks never show local variables: payloads and tokens stand in them."""
    if form == "json":
        exceptions = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        return [structlog.processors.ExceptionRenderer(exceptions), structlog.processors.JSONRenderer(default=str)]
    return [_on_one_line, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_traceback)]


def _on_one_line(logger: Any, method: str, line: EventDict) -> EventDict:
    """What a caller sent begins no line of its own, and moves no cursor of who reads it. JSON does so by itself."""
    for name, value in line.items():
        if isinstance(value, str):
            line[name] = printable(value)
    return line


def _traceback(out: TextIO, error: ExcInfo) -> None:
    """Indented, so that a line within an error's text is not taken for one of the log."""
    text = io.StringIO()
    structlog.dev.plain_traceback(text, error)
    out.write("\n".join(f"  {printable(line)}" for line in text.getvalue().splitlines()))


def _django_logging(level: str, renderers: list[Processor]) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _SHARED,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Both bring handlers of their own; the root's is enough.
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "level": level, "propagate": True},
            "axes": {"level": "WARNING"},
            "httpx": {"level": "WARNING"},  # it would write every URL, and secrets stand in some
            "daphne": {"level": "WARNING"},
        },
    }
