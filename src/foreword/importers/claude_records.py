"""One record of a Claude Code file, and what kind of thing it is."""

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from msgspec import Struct

from foreword.importers.decode import Unreadable, decode_usage
from foreword.importers.source import Row

CHAINED = frozenset({"user", "assistant", "system", "attachment", "progress"})
COMPACTIONS = frozenset({"compact_boundary", "microcompact_boundary"})
SYNTHETIC_MODEL = "<synthetic>"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Kind = Literal["answer", "error", "said", "queued", "compaction", "other"]


class Record(Struct, frozen=True, kw_only=True):
    """A record that has a place in the tree.

    `parent` is the uuid it names; None: none. `linked`: it says what its parent is, be it none. `agent`: the
    sub-agent it belongs to ("" when that one has no name), None: the main conversation. `session`: the session id that
    it names; None: none.
    """

    line: int
    type: str
    kind: Kind
    uuid: str
    parent: str | None
    linked: bool
    agent: str | None
    session: str | None
    timestamp: str
    data: dict[str, Any]

    @property
    def where(self) -> str:
        return f"line {self.line}"

    @property
    def at(self) -> int | None:
        """Microseconds since 1970 UTC; None: not given, or no ISO time."""
        return microseconds(self.timestamp)

    @property
    def message(self) -> dict[str, Any]:
        return self.data["message"]

    @property
    def call(self) -> tuple[str, str]:
        """What all records of one API call share."""
        message_id, request = self.message.get("id"), self.data.get("requestId")
        if not isinstance(message_id, str):
            return ("", self.uuid)
        return (message_id, request if isinstance(request, str) else "")


def record_of(row: Row) -> Record | None:
    """Read a row as a record of the tree; None: it has no place there (a title, a snapshot, a setting)."""
    data: dict[str, Any] = row.value
    type_ = data.get("type")
    if not isinstance(type_, str) or type_ not in CHAINED:
        return None
    if type_ in ("user", "assistant") and not _is_message(data.get("message")):
        return None
    uuid, parent = data.get("uuid"), data.get("parentUuid")
    logical = data.get("logicalParentUuid")
    kind = _kind_of(type_, data)
    if kind == "compaction" and not parent:
        parent = logical
    agent, session = data.get("agentId"), data.get("sessionId")
    return Record(
        line=row.number,
        type=type_,
        kind=kind,
        uuid=uuid if isinstance(uuid, str) else row.where,
        parent=parent if isinstance(parent, str) else None,
        linked="parentUuid" in data and kind != "compaction",
        agent=(agent if isinstance(agent, str) else "") if data.get("isSidechain") is True else None,
        session=session if isinstance(session, str) else None,
        timestamp=data["timestamp"] if isinstance(data.get("timestamp"), str) else "",
        data={} if type_ == "progress" else {key: data[key] for key in data if key != "toolUseResult"},
    )


def calls_shown(data: dict[str, Any]) -> dict[tuple[str, str], int]:
    """Return the call of a sub-agent that a progress record shows, with the tokens of its prompt; {}: it shows none.

    Such records are for the screen; the sub-agent's own file, which may be gone, holds the call.
    """
    match data:
        case {"type": "progress", "data": {"message": {"message": {"id": str(id_)} as message} as shown}}:
            request = shown.get("requestId")
        case _:
            return {}
    try:
        usage = decode_usage("anthropic", message.get("usage"))
    except Unreadable:
        return {}
    call = id_, request if isinstance(request, str) else ""
    return {call: usage.total_input or 0} if usage is not None else {}


def microseconds(timestamp: str) -> int | None:
    """Return an ISO time as microseconds since 1970 UTC (a time without zone is UTC); None: it is none."""
    try:
        time = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=1)


def _is_message(message: object) -> bool:
    return isinstance(message, dict) and isinstance(message.get("content"), str | list)


def _kind_of(type_: str, data: dict[str, Any]) -> Kind:
    if type_ == "assistant":
        failed = data.get("isApiErrorMessage") is True or data["message"].get("model") == SYNTHETIC_MODEL
        return "error" if failed else "answer"
    if type_ == "user":
        return "compaction" if data.get("isCompactSummary") is True else "said"
    subtype = data.get("subtype")
    if type_ == "system" and isinstance(subtype, str) and subtype in COMPACTIONS:
        return "compaction"
    attachment = data.get("attachment")
    if type_ == "attachment" and isinstance(attachment, dict) and attachment.get("type") == "queued_command":
        return "queued"
    return "other"
