"""A catalog file of one's own, laid over the catalog that comes with the package."""

from __future__ import annotations

from pathlib import Path

from foreword.core.catalog import Catalog
from foreword.errors import CatalogError

LARGEST = 1 << 20


def load_catalog(path: str | Path | None) -> Catalog:
    """Return the catalog with the rows of a TOML file laid over it, as `Catalog.override` does; None: as it comes.

    Raises: CatalogError, which names the file, for one that can't be read or holds a row that is none.
    """
    if path is None:
        return Catalog.load()
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise CatalogError(f"over {LARGEST:,} bytes; name the rows that differ, no others")
        return Catalog.load().override(data.decode("utf-8-sig"))
    except OSError as error:
        fault = error.strerror or "can't be read"
        raise CatalogError(f"catalog {path}: {fault}; name a TOML file with [[model]] rows") from None
    except UnicodeDecodeError:
        raise CatalogError(f"catalog {path}: not UTF-8 text; write TOML with [[model]] rows") from None
    except CatalogError as error:
        raise CatalogError(f"catalog {path}: {error}") from None
