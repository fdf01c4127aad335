"""Read YAML that a person wrote: no aliases, by which a short file has a structure without end."""

from typing import Any

import yaml


class PlainLoader(yaml.SafeLoader):
    """Read YAML without aliases (`*name`)."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node; refuse an alias."""
        if self.check_event(yaml.AliasEvent):
            alias = self.peek_event()  # type: ignore[no-untyped-call]  # its stubs have no type for it
            raise yaml.composer.ComposerError(None, None, f"alias *{alias.anchor} is not allowed", alias.start_mark)
        return super().compose_node(parent, index)


def load_yaml(text: str | bytes) -> Any:
    """Return the content of a YAML text; a `ValueError` says why it cannot be read."""
    try:
        return yaml.load(text, PlainLoader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
