"""Damage to files: to the values inside JSON, JSON lines, CSV and YAML, to their bytes, and to their places."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

DEEP = "__DEEP__"
NESTED = "[" * 100_000 + "]" * 100_000
HALF = "\ud800"
#: A value of each type, for the place of another one.
WRONG: tuple[Any, ...] = (None, True, 0, 1, -1, 1.5, "", "1", f"half {HALF}", [], [1], {}, {HALF: 1}, {"a": "b"})
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2, 100, 0.5, -0.0, 85, 1e-320, 1e150, 1e308, -1e308, 10**20, 10**400,
    float("nan"), float("inf"), float("-inf"),
    "", " ", "nan", "1e400", "None", "x" * 5000, HALF, "a\x00b", "\x1b[2J\x1b]0;title\x07", "=1+1", "{{ 7 * 7 }}",
    "../../etc/passwd", "/dev/zero", "</script><b>", "\u202eabc", "a\r\nb", "[bold red]x[/]", "日本語", "🙂" * 50,
    [], {}, [[]], [None], {"": None}, ["A"] * 1000, {"a": {"b": []}}, DEEP,
]  # fmt: skip
WORDS = [
    "", "&a [*a]", "!!python/object/apply:os.system ['true']", "!function os.getcwd", "include: siq_x.yaml", "[", "{",
    "- - -", "key: : value", "\t", "'", '"', "nan", "1e400", "9" * 401, "../..", "\x1b[2J", "%", "null", "true",
    "a,b;c",
]  # fmt: skip
PLACES = [
    "/nowhere", "~nobody-of-this-name/x", "~nobody-of-this-name/x.csv", "./x.csv", "/dev/zero", "/dev/null",
    "x" * 300, "/" + "x" * 5000, "/x" * 3000, "a\x00b/c.jsonl", "/\ud800.csv", "demo:nothing", "org/nothing",
    "/etc/passwd",
]  # fmt: skip


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return `data` damaged once to three times, mostly inside its structure.

    Args:
        data: A file's content.
        rng: Decides everything.
    """
    for _ in range(rng.choice((1, 1, 2, 3))):
        ways: list[Callable[[bytes, random.Random], bytes]] = [_mutate_lines, _mutate_bytes]
        structured = _structured(data)
        data = rng.choice([structured] * 6 + ways if structured else ways)(data, rng)
    return data


def retype(data: bytes, rng: random.Random) -> bytes:
    """Return JSON or JSON lines with one field of another type, or with half a surrogate pair in its name or its text.

    All fields have the same chance, however often lists and lines repeat them.

    Args:
        data: A file's content; one that is neither is mutated.
        rng: Decides everything.
    """
    way = _structured(data)
    if way is None:
        return mutate(data, rng)
    lines = data.split(b"\n") if way is _mutate_json_lines else [data]
    at = rng.choice([number for number, line in enumerate(lines) if line])
    try:
        tree = json.loads(lines[at])
    except (ValueError, RecursionError):
        return mutate(data, rng)
    places = {field: place for field, *place in _fields(tree)}
    if not places:
        return mutate(data, rng)
    holder, key = places[rng.choice(sorted(places))]
    if isinstance(holder, dict) and rng.random() < 0.15:
        holder[f"{key}{HALF}"] = holder.pop(key)
    else:
        holder[key] = rng.choice(WRONG)
    lines[at] = _dump(tree)
    return b"\n".join(lines)


def _fields(tree: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield (name, container, key) of every value below `tree`; the values of a list have one name."""
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        field = f"{name}.{key}" if isinstance(tree, dict) else f"{name}[]"
        yield field, tree, key
        yield from _fields(tree[key], field)


def displace(path: Path, rng: random.Random) -> None:
    """Put something into the place of a file that is no regular file, or an empty one."""
    path.unlink()
    links = [partial(path.symlink_to, target) for target in ("/dev/zero", path, path.with_name("nowhere"))]
    rng.choice([path.mkdir, path.touch, partial(os.mkfifo, path), *links])()


def rearrange(path: Path, files: list[Path], rng: random.Random) -> None:
    """Remove a file, swap it with another, write it over another, or put it beside itself by another name."""
    other = rng.choice([file for file in files if file != path] or [path])
    content = path.read_bytes()
    way = rng.randrange(4)
    if way == 0:
        path.unlink()
    elif way == 1:
        path.write_bytes(other.read_bytes())
        other.write_bytes(content)
    elif way == 2:
        other.write_bytes(content)
    else:
        path.with_name(other.name.replace("1", "2")).write_bytes(content)


def _structured(data: bytes) -> Callable[[bytes, random.Random], bytes] | None:
    try:
        json.loads(data)
        return _mutate_json
    except (ValueError, RecursionError):
        pass
    try:
        json.loads(data.split(b"\n", 1)[0])
        return _mutate_json_lines
    except (ValueError, RecursionError):
        return None


def _mutate_json(data: bytes, rng: random.Random) -> bytes:
    try:
        return _dump(_mutate_tree(json.loads(data), rng))
    except (ValueError, RecursionError):
        return data


def _mutate_json_lines(data: bytes, rng: random.Random) -> bytes:
    lines = [line for line in data.split(b"\n") if line]
    at = rng.randrange(len(lines))
    change = rng.randrange(8)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines.insert(at, lines[rng.randrange(len(lines))])
    else:
        lines[at] = _mutate_json(lines[at], rng)
    return b"\n".join([*lines, b""])


def _mutate_tree(tree: Any, rng: random.Random) -> Any:
    holders = [(holder, key) for _, holder, key in _fields(tree)]
    if not holders or rng.random() < 0.02:
        return rng.choice(VALUES)
    holder, key = rng.choice(holders)
    change = rng.randrange(10)
    if change == 0:
        del holder[key]
    elif change == 1 and isinstance(holder, dict):
        holder[rng.choice(["", "doc", "id", "a" * 300, "\ud800", str(key).upper()])] = holder.pop(key)
    elif change == 2:
        other, place = rng.choice(holders)
        holder[key], other[place] = other[place], holder[key]
        return json.loads(json.dumps(tree)) if _is_tree(tree) else tree
    elif change == 3 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif change == 4 and isinstance(holder[key], float | int):
        holder[key] = holder[key] * rng.choice([-1, 100, 1e6, 1e-9])
    else:
        holder[key] = rng.choice(VALUES)
    return tree


def _is_tree(tree: Any) -> bool:
    """Return whether nothing holds itself, which swapping two values can bring about."""
    try:
        json.dumps(tree)
        return True
    except (ValueError, RecursionError):
        return False


def _dump(tree: Any) -> bytes:
    return json.dumps(tree).replace(f'"{DEEP}"', NESTED).encode()


def _mutate_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    word = rng.choice(WORDS).encode()
    cut = rng.randrange(len(lines[at]) + 1)
    lines[at : at + 1] = rng.choice(
        [
            [],
            [lines[at], lines[at]],
            [b"  " + lines[at]],
            [lines[at][:cut]],
            [lines[at][:cut] + word + lines[at][cut:]],
            [lines[at].partition(b":")[0] + b": " + word],
            [word],
        ]
    )
    return b"\n".join(lines)


def _mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    at, length = rng.randrange(len(data) + 1), rng.choice([1, 1, 4, 64, 4096])
    noise = rng.randbytes(length)
    return rng.choice(
        [
            data[:at],
            data[at:],
            data[:at] + data[at + length :],
            data[:at] + noise + data[at + length :],
            data[:at] + noise + data[at:],
            data[:at] + bytes(length) + data[at + length :],
            data[:at] + b"\xff" * length + data[at + length :],
            b"\xef\xbb\xbf" + data,
            data.replace(b"\n", b"\r\n"),
            data + data,
            data + noise,
            b"",
        ]
    )
