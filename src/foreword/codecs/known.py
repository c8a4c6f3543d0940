"""What blocks the API of a wire takes in a history, by type (SDKs anthropic 2.14.0, openai 3.57.0 and google-genai

3.6.1; for DeepSeek the provider's documentation; all read 2026-11-30).

The compiler asks it of blocks that another tool recorded: such tools keep items of their own beside the API's. What
came first-hand is sent whether the table knows it or not, since providers add types.
"""

from __future__ import annotations

from collections.abc import Mapping

# fmt: off
KNOWN: Mapping[str, frozenset[str]] = {
    "anthropic": frozenset({
        "text", "image", "document", "search_result", "thinking", "redacted_thinking", "tool_use", "tool_result",
        "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "advisor_tool_result",
        "code_execution_tool_result", "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result", "tool_search_tool_result", "mcp_tool_use", "mcp_tool_result",
        "container_upload", "compaction", "tool_addition", "tool_removal", "mcp_tool_listing", "fallback",
        "tool_reference", "browser_state",
    }),
    "openai-chat": frozenset({"text", "image_url", "input_audio", "file", "refusal"}),
    "deepseek": frozenset({"text"}),
    "openai-responses": frozenset({
        "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
        "reasoning", "compaction", "compaction_trigger", "item_reference", "tool_search_call",
        "tool_search_output", "additional_tools", "configuration_update", "shell_call", "shell_call_output",
        "local_shell_call", "local_shell_call_output", "apply_patch_call", "apply_patch_call_output",
        "computer_call", "computer_call_output", "web_search_call", "file_search_call", "code_interpreter_call",
        "image_generation_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "mcp_call",
        "program", "program_output",
        "input_text", "input_image", "input_file", "output_text", "refusal",
    }),
    "gemini": frozenset({
        "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
        "codeExecutionResult", "toolCall", "toolResponse",
    }),
}
# fmt: on
"""Wire -> the types of blocks, parts and items (on Gemini: the member that a part holds)."""
