"""Show the site of the example registry, made of the results in `docs/registry/results`."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from speechiq.reducer.output.published.site import build_site

PLACE = "registry"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the site, and leave out the results, which the repository has."""
    kept = Files([file for file in files if not file.src_uri.startswith(f"{PLACE}/")])
    for name, content in build_site(Path(config.docs_dir, PLACE, "results")).items():
        kept.append(File.generated(config, f"{PLACE}/{name}", content=content))
    return kept
