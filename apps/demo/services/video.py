"""Work on films, by the ffmpeg of the machine: look at one, make it smaller, and make one to begin with."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from tempfile import TemporaryFile

SUFFIXES = frozenset({".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v"})
HEIGHT = 240  # pixels of what comes out
WORDS = 500  # of what ffmpeg says about a file
PATIENCE = 60  # seconds a look may take
READ = ("-hide_banner", "-v", "error", "-protocol_whitelist", "file")  # a film is one file, whatever it names


class Unreadable(Exception):
    """This file is no film that can be read."""


@dataclass(frozen=True, slots=True)
class Film:
    seconds: float
    width: int
    height: int
    codec: str


def there() -> bool:
    """Whether this machine can do any of it."""
    return bool(which("ffmpeg") and which("ffprobe"))


def probe(file: Path) -> Film:
    """What kind of film a file holds. Raises Unreadable."""
    shown = "format=duration:stream=codec_name,width,height"
    ask = ["ffprobe", *READ, "-select_streams", "v:0", "-show_entries", shown, "-of", "json", f"file:{file}"]
    done = subprocess.run(ask, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False)  # noqa: S603 - our own words
    try:
        said = json.loads(done.stdout)
        stream = said["streams"][0]
        return Film(float(said["format"]["duration"]), stream["width"], stream["height"], stream["codec_name"])
    except (ValueError, LookupError):
        raise Unreadable(done.stderr.strip()[:WORDS] or "it has no picture") from None


def shrink(source: Path, target: Path, *, told: Callable[[float], bool]) -> bool:
    """Make a small film of a large one; `told` hears how many seconds are done, and ends it by answering False."""
    how = ("-vf", f"scale=-2:{HEIGHT}", "-c:v", "mpeg4", "-q:v", "5", "-c:a", "aac", "-movflags", "+faststart")
    work = ["ffmpeg", "-nostdin", "-y", *READ, "-progress", "pipe:1", "-i", f"file:{source}", *how, f"file:{target}"]
    with TemporaryFile("w+", errors="replace") as words:
        with subprocess.Popen(work, stdout=subprocess.PIPE, stderr=words, text=True) as ffmpeg:  # noqa: S603 - our own words
            for line in ffmpeg.stdout or ():
                name, _, value = line.strip().partition("=")
                if name == "out_time_us" and value.isdigit() and not told(int(value) / 1_000_000):
                    ffmpeg.kill()
                    return False
        if ffmpeg.returncode:
            words.seek(0)
            raise Unreadable(words.read(WORDS).strip())
    return True


def paint(file: Path, *, seconds: int = 8) -> None:
    """Make a film of moving colours."""
    source = f"testsrc2=duration={seconds}:size=640x360:rate=25"
    work = ["ffmpeg", "-nostdin", "-y", "-v", "error", "-f", "lavfi", "-i", source, "-c:v", "mpeg4", f"file:{file}"]
    subprocess.run(work, check=True, timeout=PATIENCE)  # noqa: S603 - our own words
