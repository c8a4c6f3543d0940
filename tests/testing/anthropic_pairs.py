"""For every rule of Anthropic Messages: a request that it refuses, and the nearest that it lets pass."""

from foreword.testing.facts import ModelFacts
from foreword.testing.script import Answer, Call
from tests.testing.anthropic_change_pairs import CHANGE_PAIRS
from tests.testing.anthropic_deferred_pairs import DEFERRED_PAIRS
from tests.testing.anthropic_parts import (
    ASK,
    BETA,
    BUDGETED,
    HIDDEN,
    HOUR,
    MARK,
    NEW,
    OLD,
    PNG,
    PREFILLED,
    SAID,
    SMALL,
    TALK,
    TOOL,
    assistant,
    body,
    budget,
    call,
    called,
    called_after_thinking,
    folded,
    found,
    result,
    server_call,
    server_result,
    summary,
    system,
    text,
    thinking_text,
    thought,
    three_thoughts,
    user,
    without,
)
from tests.testing.cases import Pair

FORM = [
    Pair("member_missing", without(body(), "max_tokens"), body()),
    Pair("member_missing", without(body(), "model"), body()),
    Pair("member_missing", without(body(), "messages"), body()),
    Pair("member_missing", body({"role": "user"}), body(ASK)),
    Pair("member_missing", called(without(result("t1"), "tool_use_id"), result("t1")), called(result("t1"))),
    Pair("member_missing", body(user({"type": "image"})), body(user({"type": "image", "source": PNG}))),
    Pair("member_missing", body(user({"text": "hi"})), body(user(text("hi")))),
    Pair("member_missing", body(tools=[{"name": "look"}]), body(tools=[TOOL])),
    Pair("member_kind", body(max_tokens="100"), body(max_tokens=100)),
    Pair("member_kind", body(max_tokens=True), body(max_tokens=1)),
    Pair("member_kind", {**body(), "messages": {}}, body()),
    Pair("member_kind", body("hello"), body(ASK)),
    Pair("member_kind", body({"role": "user", "content": None}), body(ASK)),
    Pair("member_kind", body(user("hello")), body(user(text("hello")))),
    Pair("member_kind", body(system=[{**text("x"), "type": "image"}]), body(system=[text("x")])),
    Pair("member_kind", called(result("t1", is_error="no")), called(result("t1", is_error=False))),
    Pair(
        "member_kind",
        body(user({"type": "image", "source": {"type": "path", "path": "a.png"}})),
        body(user({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}})),
    ),
    Pair("member_unknown", body(max_output_tokens=5), body()),
    Pair("member_unknown", body({**ASK, "name": "Ada"}), body(ASK)),
    Pair("member_unknown", body(user(text("hi", index=0))), body(user(text("hi")))),
    Pair("member_unknown", called(result("t1", name="look")), called(result("t1"))),
    Pair(
        "member_unknown",
        called(result("t1", content=[text("x", id="1")])),
        called(result("t1", content=[text("x")])),
    ),
    Pair("member_unknown", body(tools=[{**TOOL, "parameters": {}}]), body(tools=[TOOL])),
    Pair("block_kind", body(user(text("hi"), {"type": "video"})), body(user(text("hi")))),
    Pair(
        "block_kind",
        called(result("t1", content=[{"type": "container_upload", "file_id": "f"}])),
        {**called(result("t1", content=[{"type": "tool_reference", "tool_name": "look"}])), "tools": [TOOL]},
    ),
    Pair("block_role", body(user(text("hi"), call("t1"))), body(user(text("hi")))),
    Pair("block_role", body(ASK, assistant(text("a"), result("t1")), ASK), body(ASK, SAID, ASK)),
    Pair("no_messages", {**body(), "messages": []}, body()),
    Pair("many_messages", body(ASK, SAID, ASK), body(ASK), {"facts": ModelFacts(max_messages=2)}),
    Pair("body_size", body(system="a" * 200), body(), {"facts": ModelFacts(max_body_bytes=200)}),
    Pair("stop_sequences", body(stop_sequences=["a", 1]), body(stop_sequences=["a", "b"])),
    Pair(
        "image_type",
        body(user({"type": "image", "source": {**PNG, "media_type": "image/bmp"}})),
        body(user({"type": "image", "source": {**PNG, "media_type": "image/gif"}})),
    ),
    Pair(
        "tool_kind",
        body(tools=[{"type": "function", "name": "look"}]),
        body(tools=[{"type": "web_search_20260318", "name": "web_search"}]),
    ),
    Pair("tool_name", body(tools=[{**TOOL, "name": "fs.read"}]), body(tools=[{**TOOL, "name": "fs_read"}])),
    Pair("tool_name", body(tools=[{**TOOL, "name": "a" * 129}]), body(tools=[{**TOOL, "name": "a" * 128}])),
    Pair("tool_names_unique", body(tools=[TOOL, TOOL]), body(tools=[TOOL, {**TOOL, "name": "listen"}])),
    Pair("tool_schema", body(tools=[{**TOOL, "input_schema": {}}]), body(tools=[TOOL])),
    Pair(
        "call_id",
        body(ASK, assistant(call("a.1")), user(result("a.1"))),
        body(ASK, assistant(call("a-1")), user(result("a-1"))),
    ),
]

ORDER = [
    Pair(
        "role", body(ASK, {"role": "tool", "content": "seen"}), body(ASK, {"role": "user", "content": "seen"})
    ),
    Pair("first_message", body(SAID, ASK), body(ASK, SAID, ASK)),
    Pair("first_message", body(assistant(text("a")), ASK), body(assistant(summary("a")), ASK)),
    Pair("alternation", body(ASK, ASK), body(ASK, SAID, ASK), {"strict_alternation": True}),
    Pair("prefill", body(ASK, SAID), body(ASK, SAID, ASK)),
    Pair("prefill", body(ASK, SAID), body(ASK, assistant(text("wait"), server_call("s1")))),
    Pair(
        "system_model",
        body(ASK, system("Be brief.")),
        body(ASK, {"role": "user", "content": "Be brief."}),
        {"facts": ModelFacts(supports_mid_system=False)},
    ),
    Pair("system_first", body(system("Be brief.")), body(ASK, system("Be brief."))),
    Pair("system_after", body(ASK, SAID, system("Be brief.")), body(ASK, SAID, ASK, system("Be brief."))),
    Pair(
        "system_after",
        body(ASK, assistant(server_call("s1"), text("wait")), system("Be brief.")),
        body(ASK, assistant(text("wait"), server_call("s1")), system("Be brief.")),
    ),
    Pair("system_before", body(ASK, system("Be brief."), ASK), body(ASK, system("Be brief."), SAID, ASK)),
    Pair("system_before", body(ASK, system("a"), system("b")), body(ASK, system([text("a"), text("b")]))),
    Pair("system_content", body(ASK, system([])), body(ASK, system([text("Be brief.")]))),
    Pair("empty_content", body({"role": "user", "content": ""}), body(ASK)),
    Pair("empty_content", body(ASK, assistant(), ASK), body(ASK, assistant(text("a")), ASK)),
    Pair("empty_content", body(ASK, assistant(), ASK), body(ASK, assistant()), PREFILLED),
    Pair("empty_text", body(user(text(""), text("a"))), body(user(text("a")))),
    Pair("empty_text", body(system=[text("")]), body(system=[text("a")])),
    Pair(
        "empty_text",
        called(result("t1", content=[text("")])),
        called(result("t1", content=[])),
    ),
    Pair("blank_text", body({"role": "user", "content": " \n"}), body({"role": "user", "content": " a\n"})),
    Pair(
        "trailing_space",
        body(ASK, assistant(text("In the "))),
        body(ASK, assistant(text("In the"))),
        PREFILLED,
    ),
]

PAIRING = [
    Pair("call_unanswered", called(text("done")), called(result("t1"), text("done"))),
    Pair("call_unanswered", body(ASK, assistant(call("t1"))), called(result("t1")), PREFILLED),
    Pair(
        "call_unanswered",
        body(ASK, assistant(call("t1"), call("t2")), user(result("t1"))),
        body(ASK, assistant(call("t1"), call("t2")), user(result("t2"), result("t1"))),
    ),
    Pair("result_orphan", body(user(result("t1"))), called(result("t1"))),
    Pair("result_orphan", called(result("t1"), result("t2")), called(result("t1"))),
    Pair(
        "result_orphan",
        body(ASK, assistant(call("t1")), user(result("t1")), user(result("t1"))),
        body(ASK, assistant(call("t1")), user(result("t1")), user(text("go on"))),
    ),
    Pair("result_twice", called(result("t1"), result("t1")), called(result("t1"))),
    Pair(
        "call_ids_unique",
        body(*called(result("t1"))["messages"], *called(result("t1"))["messages"]),
        body(*called(result("t1"))["messages"], ASK, assistant(call("t2")), user(result("t2"))),
    ),
    Pair("results_first", called(text("see"), result("t1")), called(result("t1"), text("see"))),
    Pair(
        "error_text",
        called(result("t1", is_error=True, content=[text("no"), {"type": "image", "source": PNG}])),
        called(result("t1", is_error=True, content=[text("no")]), {"type": "image", "source": PNG}),
    ),
    Pair(
        "error_text",
        called(result("t1", is_error=True, content=[{"type": "image", "source": PNG}])),
        called(result("t1", content=[{"type": "image", "source": PNG}])),
    ),
    Pair(
        "toolset",
        body(ASK, assistant(call("t1", toolset_name="desk")), user(result("t1"))),
        body(ASK, assistant(call("t1", toolset_name="desk")), user(result("t1", toolset_name="desk"))),
    ),
    Pair(
        "server_pair",
        body(ASK, assistant(server_result("s1"), text("a")), ASK),
        body(ASK, assistant(server_call("s1"), server_result("s1"), text("a")), ASK),
    ),
    Pair(
        "server_pair",
        body(ASK, assistant(server_call("s1"), text("a")), ASK),
        body(ASK, assistant(server_call("s1")), assistant(server_result("s1"), text("a")), ASK),
    ),
    Pair(
        "server_pair",
        body(ASK, assistant(server_call("s1"), call("t1")), user(result("t1"), text("b"))),
        body(
            ASK, assistant(server_call("s1"), call("t1")), user(result("t1")), assistant(server_result("s1"))
        ),
    ),
]

OPTIONS = [
    Pair("max_tokens_negative", body(max_tokens=-1), body(max_tokens=0)),
    Pair("max_tokens_model", body(max_tokens=128_001), body(max_tokens=128_000)),
    Pair("prewarm", body(max_tokens=0, stream=True), body(max_tokens=0, stream=False)),
    Pair("prewarm", body(max_tokens=0, thinking={"type": "adaptive"}), body(max_tokens=0)),
    Pair("window_input", body({"role": "user", "content": "word " * 3_000}), body(), SMALL),
    Pair("window_output", body(max_tokens=1_999), body(max_tokens=1_900), SMALL),
    Pair(
        "sampling",
        body(temperature=0.5),
        body(temperature=0.5),
        {"facts": ModelFacts(sampling=True)},
        headers=NEW,
        legal_headers=OLD,
    ),
    Pair("sampling", body(top_k=5), body(), headers=OLD, legal_headers=OLD),
    Pair(
        "assistant_document",
        body(ASK, assistant({"type": "document", "source": PNG}), ASK),
        body(ASK, assistant({"type": "document", "source": PNG}), ASK),
        headers=NEW,
        legal_headers=OLD,
    ),
    Pair(
        "user_citations",
        body(user(text("a", citations=[{"type": "char_location"}]))),
        body(user(text("a", citations=[]))),
    ),
    Pair(
        "user_citations",
        called(result("t1", content=[found([text("x", citations=[{"type": "char_location"}])])])),
        called(result("t1", content=[found([text("x")])])),
        headers=NEW,
        legal_headers=NEW,
    ),
    Pair(
        "user_citations",
        body(user(found([text("x", citations=[{"type": "char_location"}])]))),
        body(user(found([text("x")]))),
    ),
    Pair("choice_kind", body(tools=[TOOL], tool_choice={"type": "required"}), body(tools=[TOOL])),
    Pair(
        "choice_name",
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "listen"}),
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "look"}),
    ),
    Pair(
        "choice_forced",
        body(tools=[TOOL], tool_choice={"type": "any"}),
        body(tools=[TOOL], tool_choice={"type": "auto"}),
        {"facts": ModelFacts(forced_tool_choice=False)},
    ),
    Pair("effort", body(output_config={"effort": "extreme"}), body(output_config={"effort": "xhigh"})),
    Pair(
        "beta",
        body(context_management={"edits": []}),
        body(context_management={"edits": []}),
        headers={},
        legal_headers=BETA,
    ),
    Pair(
        "beta",
        body(assistant(summary("a")), ASK),
        body(assistant(summary("a")), ASK),
        headers={},
        legal_headers=BETA,
    ),
    Pair(
        "beta",
        body(ASK, system("a", clear_at="never")),
        body(ASK, system("a")),
        headers={},
        legal_headers={},
    ),
    Pair(
        "beta",
        body(thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}),
        body(thinking={"type": "adaptive"}),
        headers={},
        legal_headers={},
    ),
]

THINKING = [
    Pair("thinking_kind", body(thinking={"type": "deep"}), body(thinking={"type": "adaptive"})),
    Pair("thinking_model", body(thinking=budget(2048), max_tokens=4096), body(thinking={"type": "adaptive"})),
    Pair(
        "thinking_model",
        body(thinking={"type": "disabled"}),
        body(thinking={"type": "adaptive"}),
        {"facts": ModelFacts(thinking_types=frozenset({"adaptive"}))},
    ),
    Pair(
        "budget_missing",
        body(thinking={"type": "enabled"}, max_tokens=4096),
        body(thinking=budget(1024), max_tokens=4096),
        BUDGETED,
    ),
    Pair(
        "budget_low",
        body(thinking=budget(1023), max_tokens=4096),
        body(thinking=budget(1024), max_tokens=4096),
        BUDGETED,
    ),
    Pair(
        "budget_high",
        body(thinking=budget(2048), max_tokens=2048),
        body(thinking=budget(2048), max_tokens=2049),
        BUDGETED,
    ),
    Pair("signature", thought(lambda m: thinking_text(m, "Other.")), thought(lambda m: m), TALK),
    Pair(
        "signature",
        body(ASK, assistant({"type": "thinking", "thinking": "a", "signature": "forged"}, text("b")), ASK),
        body(ASK, assistant(text("b")), ASK),
    ),
    Pair("bound_prefix", thought(lambda m: [user(text("Changed.")), *m[1:]]), thought(lambda m: m), TALK),
    Pair(
        "bound_prefix",
        thought(lambda m: m[2:]),
        thought(lambda m: [user(text(ASK["content"], cache_control=MARK)), *m[1:]]),
        TALK,
    ),
    Pair("bound_chain", three_thoughts(0, 2), three_thoughts(1, 2), TALK),
    Pair(
        "compaction_many",
        body(assistant(summary("a"), summary("b")), ASK),
        body(assistant(summary("a"), summary(None)), ASK),
    ),
    Pair(
        "compaction_first",
        body(ASK, assistant(summary("a", signature="s")), ASK),
        body(assistant(summary("a", signature="s")), ASK),
        {"accept_foreign_signatures": True},
    ),
    Pair(
        "compaction_signature",
        folded(lambda block: {**block, "content": "Another summary."}),
        folded(lambda block: block),
        {"script": [Answer(text="A summary.")]},
    ),
    Pair(
        "thinking_last",
        body(ASK, assistant(text("so"), HIDDEN), ASK),
        body(ASK, assistant(HIDDEN, text("so")), ASK),
        {"accept_foreign_signatures": True},
    ),
    Pair(
        "thinking_last",
        body(ASK, assistant(text("so"), HIDDEN), ASK),
        body(ASK, assistant(text("so"), HIDDEN), SAID, ASK),
        {"accept_foreign_signatures": True},
    ),
    Pair(
        "turn_thinking",
        called_after_thinking(user(result("t1"))),
        called_after_thinking(user(result("t1")), SAID, ASK),
        {"script": [Answer(thinking="Hm.", calls=(Call(name="look", id="t1"),))]},
    ),
    Pair("compaction_empty", body(assistant(summary("")), ASK), body(assistant(summary(None)), ASK)),
    Pair(
        "compaction_alone",
        body(compaction={"type": "summarize"}, stop_sequences=["x"]),
        body(compaction={"type": "summarize"}),
    ),
    Pair(
        "compaction_alone",
        body(compaction={"type": "summarize"}, output_config={"format": {"type": "json_schema"}}),
        body(compaction={"type": "summarize"}, output_config={"effort": "low"}),
    ),
    Pair(
        "compaction_alone",
        body(compaction={"type": "summarize"}, tools=[TOOL], tool_choice={"type": "any"}),
        body(compaction={"type": "summarize"}, tools=[TOOL], tool_choice={"type": "auto"}),
    ),
]

CACHE = [
    Pair(
        "marks_many",
        body(user(*[text(word, cache_control=MARK) for word in "abcd"]), cache_control=MARK),
        body(user(*[text(word, cache_control=MARK) for word in "abcd"])),
    ),
    Pair(
        "marks_many",
        body(
            user(*[text(word, cache_control=MARK) for word in "abc"]),
            system=[text("a", cache_control=MARK)],
            tools=[{**TOOL, "cache_control": MARK}],
        ),
        body(
            user(*[text(word, cache_control=MARK) for word in "ab"]),
            system=[text("a", cache_control=MARK)],
            tools=[{**TOOL, "cache_control": MARK}],
        ),
    ),
    Pair(
        "mark_place",
        body(
            ASK, assistant({"type": "redacted_thinking", "data": "x", "cache_control": MARK}, text("b")), ASK
        ),
        body(ASK, assistant({"type": "redacted_thinking", "data": "x"}, text("b", cache_control=MARK)), ASK),
        {"accept_foreign_signatures": True},
    ),
    Pair(
        "mark_empty",
        body(user(text("a"), text("", cache_control=MARK))),
        body(user(text("a", cache_control=MARK))),
    ),
    Pair(
        "mark_form",
        body(cache_control={"type": "ephemeral", "ttl": "2h"}),
        body(cache_control={"type": "ephemeral", "ttl": "1h"}),
    ),
    Pair("mark_form", body(cache_control={"type": "persistent"}), body(cache_control={"type": "ephemeral"})),
    Pair(
        "mark_order",
        body(user(text("a", cache_control=MARK), text("b", cache_control=HOUR))),
        body(user(text("a", cache_control=HOUR), text("b", cache_control=MARK))),
    ),
    Pair(
        "mark_order",
        body(user(text("b", cache_control=HOUR)), system=[text("a", cache_control=MARK)]),
        body(user(text("b", cache_control=MARK)), system=[text("a", cache_control=HOUR)]),
    ),
]

PAIRS = [*FORM, *ORDER, *PAIRING, *OPTIONS, *CHANGE_PAIRS, *DEFERRED_PAIRS, *THINKING, *CACHE]
