"""Find what a data set on the Hub has: its version, configurations, splits and columns; no audio is fetched.

One request is enough if the card of the data set states its columns. Else `datasets` finds the files of the split, and
the footer of the first one, if it is parquet, has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from speechiq.core.checkpoints.opening import first_line
from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean

if TYPE_CHECKING:
    from datasets import Features
    from huggingface_hub import HfApi

#: Seconds that an answer of the Hub may take.
PATIENCE = 5.0
#: Branch of the Hub with a parquet copy of most data sets, also of many that come from scripts.
PARQUET_BRANCH = "refs/convert/parquet"
ALTERNATIVE = "hf-audio/esb-datasets-test-only-sorted"
LOCAL_COPY = "give a local copy with --metadata dataset_path=FOLDER"


class HubError(SpeechIQError):
    """Describe a hub that gives no answer to any request."""


class HubPart(NamedTuple):
    """Describe the splits of a configuration, and the columns of one.

    Attributes:
        splits: Split -> number of rows, or None if the card does not state it.
        features: Column -> type, as in `datasets`; None if only a download would show them.
    """

    splits: dict[str, int | None]
    features: Features | None

    def count_rows(self, split: str) -> int | None:
        """Return the number of rows of a split, which may join several by `+`; None if it is not known.

        >>> HubPart({"aus": 2, "gbr": 3, "usa": None}, None).count_rows("aus+gbr")
        5
        """
        sizes = [self.splits.get(name) for name in split.split("+")]
        return None if None in sizes else sum(size or 0 for size in sizes)


class HubSet(NamedTuple):
    """Describe a data set on the Hub at one commit; its name is another one than was asked for if it was renamed.

    `stated` has the parts of the configurations whose splits and columns the card states.
    """

    name: str
    commit: str
    configs: list[str]
    default: str | None
    stated: dict[str, HubPart]

    def find_part(self, config: str | None, split: str) -> HubPart:
        """Return the part of a configuration, from the card or else from the files; refuse one that is not there."""
        name = config or self.default
        names = ", ".join(self.configs)
        if name is None:
            raise SpeechIQError(
                self.name, f"no configuration is chosen; it has {names}", "give --metadata dataset_name=..."
            )
        if name not in self.configs:
            near = did_you_mean(name, self.configs)
            raise SpeechIQError(
                self.name, f"no configuration {name!r}; it has {names}", f"{near}give --metadata dataset_name=..."
            )
        if (part := self.stated.get(name)) is None:
            return read_files(self.name, config, split, self.commit)
        _check_split(self.name, split, part)
        return part


def ask_hub(path: str, revision: str | None = None) -> HubSet:
    """Return what the Hub says of a data set in one request; of a gated one, in two; refuse what cannot be read."""
    from datasets.info import DatasetInfosDict
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import HfApi, constants
    from huggingface_hub.repocard_data import DatasetCardData

    api = HfApi(endpoint=constants.ENDPOINT)
    with _explained(api, path, revision):
        about = api.dataset_info(path, revision=revision, timeout=PATIENCE)
        if about.gated:
            api.auth_check(path, repo_type="dataset")
    card = about.card_data or DatasetCardData()
    try:
        configs, infos = MetadataConfigs.from_dataset_card_data(card), DatasetInfosDict.from_dataset_card_data(card)
    except (ValueError, TypeError, KeyError, AttributeError):  # A card is written by hand: its files may still load.
        configs, infos = MetadataConfigs(), DatasetInfosDict()
    names = [*configs] or [*infos] or ["default"]
    stated = {
        name: HubPart({split: info.num_examples for split, info in about_config.splits.items()}, about_config.features)
        for name, about_config in infos.items()
        if about_config.splits and about_config.features
    }
    default = names[0] if len(names) == 1 else configs.get_default_config_name()
    return HubSet(about.id, about.sha or "", names, default, stated)


@contextmanager
def _explained(api: HfApi, path: str, revision: str | None) -> Iterator[None]:
    """Raise the errors of huggingface_hub as those that a user can fix."""
    import httpx2
    from huggingface_hub import errors, get_token

    page = f"{api.endpoint}/datasets/{path}"
    token = f"make a token on {api.endpoint}/settings/tokens and run hf auth login, or set HF_TOKEN"
    try:
        yield
    except errors.GatedRepoError as error:
        fault = "the account of your token has no access" if get_token() else "no token is on this machine"
        fix = f"accept its terms on {page}" + ("" if get_token() else f", then {token}")
        raise SpeechIQError(path, f"gated, and {fault}", fix) from error
    except errors.RepositoryNotFoundError as error:
        near = did_you_mean(path, _list_neighbors(api, path))
        fix = f"correct dataset_path, or {LOCAL_COPY[5:]}" if get_token() else f"if it is private, {token}"
        raise SpeechIQError(path, "no such data set on the Hub, or a private one", near + fix) from error
    except errors.RevisionNotFoundError as error:
        refs = api.list_repo_refs(path, repo_type="dataset")
        names = [ref.name for ref in (*refs.branches, *refs.tags)]
        near = did_you_mean(str(revision), names)
        raise SpeechIQError(
            path, f"no revision {revision!r}; it has {', '.join(names)}", f"{near}give --metadata dataset_revision=..."
        ) from error
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        fix = f"the token is not valid: {token}" if status in (401, 403) else "try again later"
        raise SpeechIQError(path, f"the Hub answers with the error {status}", fix) from error
    except errors.HFValidationError as error:
        raise SpeechIQError(path, "neither a name on the Hub nor a folder", "correct dataset_path") from error
    except (OSError, httpx2.HTTPError) as error:
        fix = f"check network and proxy, or {LOCAL_COPY}"
        raise HubError(f"the hub ({api.endpoint})", f"gives no answer ({first_line(error):.200})", fix) from error


def _list_neighbors(api: HfApi, path: str) -> list[str]:
    """Return the data sets of the owner; none if they cannot be listed."""
    try:
        return [each.id for each in api.list_datasets(author=path.partition("/")[0])]
    except Exception:  # Only a suggestion depends on it.
        return []


def read_files(path: str, config: str | None, split: str, commit: str | None = None) -> HubPart:
    """Return the part of a configuration by its files, on the Hub or in a folder; of parquet, the first footer is read.

    A configuration or split that it does not have is refused, and files that `datasets` cannot read.
    """
    import pyarrow.parquet as parquet
    from datasets import Features, load_dataset_builder

    try:
        builder = load_dataset_builder(path, config, revision=commit)
        files: dict[str, Sequence[str]] = dict(builder.config.data_files or {})
        features = builder.info.features
        name = next(iter(_name_splits(split)), next(iter(files), ""))
        if features is None and name in files and files[name][0].endswith(".parquet"):
            features = Features.from_arrow_schema(parquet.read_schema(files[name][0]))
    except Exception as error:  # `datasets` raises many kinds of errors for the content of others.
        raise explain(path, error) from error
    sizes = builder.info.splits or {}
    part = HubPart({name: sizes[name].num_examples if name in sizes else None for name in files or sizes}, features)
    _check_split(path, split, part)
    return part


def _name_splits(split: str) -> list[str]:
    """Return the splits of a text such as `aus+gbr` or `test[:10%]`; none for `all`, which a set need not have."""
    return [] if split == "all" else [part.partition("[")[0] for part in split.split("+")]


def _check_split(path: str, split: str, part: HubPart) -> None:
    for name in _name_splits(split):
        if name not in part.splits:
            splits = [*map(str, part.splits)]  # `datasets` names some by a class of its own.
            names = ", ".join(splits) or "none"
            near = did_you_mean(name, splits)
            raise SpeechIQError(path, f"no split {name!r}; it has {names}", f"{near}give --metadata split=...")


def explain(place: str, error: Exception) -> SpeechIQError:
    """Return the error that says what a user can do about one of `datasets`."""
    from datasets.exceptions import DatasetsError

    if "script" in str(error):
        return SpeechIQError(
            place,
            "its rows come from a script, which `datasets` does not run",
            f"try --metadata dataset_revision={PARQUET_BRANCH}, or give a local copy as parquet with --metadata "
            f"dataset_path=FOLDER, or another source of the same clips, such as {ALTERNATIVE}",
        )
    if isinstance(error, DatasetsError | OSError):
        return SpeechIQError(
            place,
            f"cannot be loaded and is not in the cache ({first_line(error)})",
            f"check the connection to the Hub, or {LOCAL_COPY}",
        )
    return SpeechIQError(place, first_line(error), "check dataset_name and dataset_revision")


def list_feature_columns(features: Mapping[str, Any], outer: str = "") -> Iterator[str]:
    """Yield the names of columns, and the parts of nested ones as `COLUMN.PART`."""
    for name, feature in features.items():
        yield f"{outer}{name}"
        parts = getattr(feature, "feature", feature)  # A list has the type of its items.
        if isinstance(parts, dict):
            yield from list_feature_columns(parts, f"{outer}{name}.")
