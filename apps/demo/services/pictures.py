"""Work on pictures: read, shrink, put on a sheet, and make some to begin with."""

import io
import math
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageColor, ImageDraw, ImageFont, ImageOps, UnidentifiedImageError

THUMBNAIL = 320  # pixels of the longer side
TILE, GAP, CAPTION, HEAD = 144, 8, 16, 40
PAPER, INK, HOLE = "#ffffff", "#1f2937", "#e5e7eb"


class Unreadable(Exception):
    """This file is not a picture that can be read."""


def read(file: Path, *, at_least: int = THUMBNAIL) -> Image.Image:
    """Decode a picture, upright and in RGB; a JPEG no larger than needed. Raises Unreadable."""
    try:
        with Image.open(file) as picture:
            picture.draft("RGB", (at_least, at_least))
            return _flat(ImageOps.exif_transpose(picture))
    except UnidentifiedImageError:
        raise Unreadable("no known kind of picture") from None
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    except Exception as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error


def size(file: Path) -> tuple[int, int]:
    """Width and height as stored, without decoding."""
    with Image.open(file) as picture:
        return picture.size


def shrink(picture: Image.Image, to: int = THUMBNAIL) -> Image.Image:
    small = picture.copy()
    small.thumbnail((to, to), Image.Resampling.LANCZOS)
    return small


def jpeg(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=85, optimize=True)
    return file.getvalue()


class Sheet:
    """A contact sheet with a place for each of so many pictures."""

    def __init__(self, count: int, title: str) -> None:
        self.columns = max(4, min(20, math.ceil(math.sqrt(count * 1.4))))
        rows = max(1, math.ceil(count / self.columns))
        width, height = self.columns * (TILE + GAP) + GAP, HEAD + rows * (TILE + CAPTION + GAP) + GAP
        self.paper = Image.new("RGB", (width, height), PAPER)
        self.pen = ImageDraw.Draw(self.paper)
        self.pen.text((GAP, GAP + 2), title, INK, font=ImageFont.load_default(18))
        self.font = ImageFont.load_default(11)

    def put(self, place: int, caption: str, file: Path) -> bool:
        """Fill one place. A picture that cannot be read leaves a grey tile, and False is answered."""
        row, column = divmod(place, self.columns)
        x, y = GAP + column * (TILE + GAP), HEAD + row * (TILE + CAPTION + GAP)
        self.pen.text((x, y + TILE + 2), self._fitting(caption), INK, font=self.font)
        try:
            small = shrink(read(file), TILE)
        except Unreadable:
            self.pen.rectangle((x, y, x + TILE, y + TILE), HOLE)
            self.pen.text((x + GAP, y + TILE // 2), "could not be read", INK, font=self.font)
            return False
        self.paper.paste(small, (x + (TILE - small.width) // 2, y + (TILE - small.height) // 2))
        return True

    def _fitting(self, caption: str) -> str:
        if self.font.getlength(caption) <= TILE:
            return caption
        kept = caption[: TILE // 4]  # nothing longer fits
        while self.font.getlength(f"{kept}…") > TILE:
            kept = kept[:-1]
        return f"{kept}…"


def paint(folder: Path, count: int) -> None:
    """Make sample pictures, in a folder that appears whole."""
    new = folder.with_name(f"{folder.name}.new")
    new.mkdir(exist_ok=True)
    for number in range(count):
        picture = _sample(number)
        picture.save(new / f"sample-{number + 1:02}.{('jpg', 'png', 'webp')[number % 3]}")
    new.rename(folder)


def _sample(number: int) -> Image.Image:
    """Discs in front of a two-coloured sky; no two alike, none of them random."""
    sizes: Sequence[tuple[int, int]] = ((1600, 1200), (1200, 1600), (1920, 1080), (1400, 1400))
    width, height = sizes[number % len(sizes)]
    hue = number * 47 % 360
    sky = Image.linear_gradient("L").resize((width, height))
    picture = ImageOps.colorize(sky, f"hsl({hue},70%,30%)", f"hsl({(hue + 60) % 360},80%,75%)")
    pen = ImageDraw.Draw(picture)
    for disc in range(5 + number % 4):
        angle = (number * 31 + disc * 137.5) * math.pi / 180
        radius = min(width, height) * (0.05 + 0.03 * (disc % 4))
        x = width / 2 + math.cos(angle) * width * 0.09 * (disc + 1) * 0.5
        y = height / 2 + math.sin(angle) * height * 0.09 * (disc + 1) * 0.5
        colour = ImageColor.getrgb(f"hsl({(hue + 150 + disc * 20) % 360},75%,60%)")
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
    return picture


def _flat(picture: Image.Image) -> Image.Image:
    """On white where it is transparent."""
    if not picture.has_transparency_data:
        return picture.convert("RGB")
    layer = picture.convert("RGBA")
    paper = Image.new("RGB", layer.size, PAPER)
    paper.paste(layer, mask=layer.getchannel("A"))
    return paper
