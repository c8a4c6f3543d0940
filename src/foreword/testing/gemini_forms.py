"""Gemini generateContent: the members of every object a request may hold (rulebook 7, recorded requests).

Names are in camelCase; the server takes them in snake_case as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from foreword.testing.form import Table

BODY: Table = {
    "cachedContent": "str",
    "contents": "list!",
    "generationConfig": "obj",
    "labels": "obj",
    "model": "str",
    "safetySettings": "list",
    "serviceTier": "str",
    "store": "bool",
    "systemInstruction": "obj",
    "toolConfig": "obj",
    "tools": "list",
}
CONTENT: Table = {"role": "str", "parts": "list"}
ROLES = frozenset({"user", "model"})

# A part holds exactly one of these.
PART_KINDS: Mapping[str, str] = {
    "text": "str",
    "inlineData": "obj",
    "fileData": "obj",
    "functionCall": "obj",
    "functionResponse": "obj",
    "executableCode": "obj",
    "codeExecutionResult": "obj",
    "toolCall": "obj",
    "toolResponse": "obj",
}
PART: Table = {
    **PART_KINDS,
    "thought": "bool",
    "thoughtSignature": "str",
    "videoMetadata": "obj",
    "mediaResolution": "obj",
    "mediaProcessing": "any",
    "partMetadata": "obj",
    "audioMetadata": "obj",
    "audioTranscription": "any",
    "documentMetadata": "obj",
    "speechMetadata": "obj",
    "spreadsheetMetadata": "obj",
}
# Kinds with members of their own; the other ones are echoed as they came.
INSIDE: Mapping[str, Table] = {
    "inlineData": {"mimeType": "str", "data": "str", "displayName": "str"},
    "fileData": {"mimeType": "str", "fileUri": "str", "displayName": "str"},
    "functionCall": {
        "id": "str",
        "name": "str",
        "args": "obj|null",
        "partialArgs": "list",
        "willContinue": "bool",
    },
    "functionResponse": {
        "id": "str",
        "name": "str",
        "response": "obj|null",
        "parts": "list",
        "willContinue": "bool",
        "scheduling": "str",
    },
}
# Kinds that only one of the roles may hold.
ROLE_KINDS: Mapping[str, str] = {"functionCall": "model", "functionResponse": "user"}

TOOL: Table = {
    "codeExecution": "obj",
    "computerUse": "obj",
    "enterpriseWebSearch": "obj",
    "exaAiSearch": "obj",
    "fileSearch": "obj",
    "functionDeclarations": "list",
    "googleMaps": "obj",
    "googleSearch": "obj",
    "googleSearchRetrieval": "obj",
    "mcpServers": "list",
    "parallelAiSearch": "obj",
    "retrieval": "obj",
    "urlContext": "obj",
}
DECLARATION: Table = {
    "name": "str",
    "description": "str",
    "behavior": "str",
    "parameters": "obj",
    "parametersJsonSchema": "any",
    "response": "obj",
    "responseJsonSchema": "any",
}
# `parameters` and `response` are no JSON schema but this one, down to its innermost.
SCHEMA: Table = {
    "additionalProperties": "any",
    "anyOf": "list",
    "default": "any",
    "defs": "obj",
    "description": "str",
    "enum": "list",
    "example": "any",
    "format": "str",
    "items": "obj",
    "maxItems": "any",
    "maxLength": "any",
    "maxProperties": "any",
    "maximum": "num",
    "minItems": "any",
    "minLength": "any",
    "minProperties": "any",
    "minimum": "num",
    "nullable": "bool",
    "pattern": "str",
    "properties": "obj",
    "propertyOrdering": "list",
    "ref": "str",
    "required": "list",
    "title": "str",
    "type": "str",
}
# Run by the server itself.
BUILT_IN = frozenset(TOOL) - {"functionDeclarations", "mcpServers"}
# Of the images, GIF and others are refused; of other media not all that is taken is known.
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
TOOL_CONFIG: Table = {
    "functionCallingConfig": "obj",
    "retrievalConfig": "obj",
    "includeServerSideToolInvocations": "bool",
}
CALLING: Table = {"mode": "str", "allowedFunctionNames": "list", "streamFunctionCallArguments": "bool"}
MODES = frozenset({"MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"})

GENERATION: Table = {
    "audioTimestamp": "bool",
    "audioTranscriptionConfig": "obj",
    "candidateCount": "int",
    "enableAffectiveDialog": "bool",
    "enableEnhancedCivicAnswers": "bool",
    "frequencyPenalty": "num",
    "imageConfig": "obj",
    "logprobs": "int",
    "maxOutputTokens": "int",
    "mediaResolution": "str",
    "modelSelectionConfig": "obj",
    "presencePenalty": "num",
    "responseFormat": "any",
    "responseJsonSchema": "any",
    "responseLogprobs": "bool",
    "responseMimeType": "str",
    "responseModalities": "list",
    "responseSchema": "obj",
    "routingConfig": "obj",
    "seed": "int",
    "speechConfig": "obj",
    "stopSequences": "list",
    "temperature": "num",
    "thinkingConfig": "obj",
    "topK": "num",
    "topP": "num",
    "translationConfig": "obj",
}
THINKING: Table = {"includeThoughts": "bool", "thinkingBudget": "int", "thinkingLevel": "str"}
LEVELS = frozenset({"THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"})
