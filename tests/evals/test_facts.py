"""Facts as rows: which tool a result is of."""

from foreword.core.block import Message, Text, ToolCall, ToolResult
from foreword.core.event import Answered, Draft, ToolReturned
from foreword.evals.facts import rows_of


def calls(*names: str) -> Draft:
    """An answer whose calls all have the same id."""
    blocks = tuple(ToolCall(id="c", name=name, arguments="{}") for name in names)
    return Draft(body=Answered(message=Message(role="assistant", blocks=blocks)))


def test_a_result_is_of_the_oldest_open_call_of_its_id() -> None:
    """Files use an id twice, also in one answer; what comes once more is of the call before."""
    result = Draft(body=ToolReturned(result=ToolResult(call_id="c", content=(Text(text="done"),))))
    stray = Draft(body=ToolReturned(result=ToolResult(call_id="x", content=(Text(text="done"),))))
    facts = [calls("read", "grep"), result, result, result, calls("ls"), result, stray]
    tools = [row.tool for row in rows_of(facts) if row.category == "result"]
    assert tools == ["read", "grep", "grep", "ls", None]
