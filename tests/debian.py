"""Fetch files of Debian packages for tests, pinned by sha256 and kept in the cache folder between runs."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from speechiq.core.files.folders import cache_dir


def fetch_package(name: str, version: str, sha256: str) -> Path:
    """Return the folder with the unpacked files of a package; skip the test without apt, dpkg or network."""
    folder = cache_dir("tests", f"{name}-{sha256[:12]}")
    if folder.is_dir():
        return folder
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip(f"Debian's package {name} is needed, and this system has no apt-get or dpkg-deb")
    unpacked = folder.with_name(f".{folder.name}")
    unpacked.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["apt-get", "download", f"{name}={version}"], cwd=unpacked, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"Debian's package {name}={version} cannot be downloaded: {done.stderr.strip()[-200:]}")
    (file,) = unpacked.glob("*.deb")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == sha256, f"{name}={version} has another sha256"
    subprocess.run(["dpkg-deb", "-x", str(file), str(unpacked)], check=True)
    file.unlink()
    unpacked.rename(folder)
    return folder
