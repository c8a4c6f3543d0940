"""A server on loopback that answers routes with JSON, for what endpoints tell of themselves."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


class Routes:
    """Serves a table of path -> JSON value, or (status, value); ``heard`` lists (method, path, headers, body)."""

    def __init__(self, table: dict[str, Any]) -> None:
        heard: list[tuple[str, str, dict[str, str], bytes]] = []
        self.heard = heard

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                heard.append((self.command, self.path, {n.lower(): v for n, v in self.headers.items()}, body))
                found = table.get(self.path, (404, {"error": {"message": "no such route"}}))
                status, value = found if isinstance(found, tuple) else (200, found)
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                if status in (301, 302, 307):
                    self.send_header("location", "http://127.0.0.1:9/elsewhere")
                self.end_headers()
                self.wfile.write(data)

            do_GET = answer  # noqa: N815
            do_POST = answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                """Stay silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Routes:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


LLAMA_PROPS = {
    "default_generation_settings": {"n_ctx": 65_536, "params": {"n_predict": -1}},
    "total_slots": 2,
    "model_alias": "qwen",
    "model_path": "/nowhere/model.gguf",
}
OLLAMA_SHOW = {
    "parameters": 'stop "<|im_end|>"\nnum_ctx                        8192',
    "model_info": {
        "general.architecture": "qwen3",
        "qwen3.block_count": 40,
        "qwen3.context_length": 40_960,
        "qwen3.embedding_length": 5_120,
        "qwen3.attention.head_count": 40,
        "qwen3.attention.head_count_kv": 4,
        "qwen3.attention.key_length": 128,
        "qwen3.attention.value_length": 128,
    },
}
VLLM_MODELS = {"object": "list", "data": [{"id": "qwen3", "object": "model", "max_model_len": 32_768}]}
