"""Lists of OpenAI Chat Completions messages, also as tau-bench result rows."""

from collections.abc import Iterable

from foreword.importers import message_lists
from foreword.importers.imported import Imported
from foreword.importers.source import Row, Source


def sessions(rows: Iterable[Row], source: Source) -> list[Imported]:
    """Read each conversation of a file. Raises ImportFailed when it holds no message."""
    return message_lists.sessions(rows, source, "openai-chat")
