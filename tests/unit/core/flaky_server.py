"""A server on the loopback address that misbehaves in the ways that real ones do."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DATA = bytes(range(256)) * 4096  # 1 MiB
PAGE = b"<!DOCTYPE html><html><body>Please log in</body></html>"
COMMENTED = b"\n<!-- portal -->\n<HTML><body>Please log in</body></HTML>"


class Flaky:
    """State of one server: what was asked and sent, and how often it may still misbehave."""

    def __init__(self):
        self.sent = 0  # bytes of bodies
        self.requests = []  # (path, headers)
        self.cuts = 0  # answers that end after a third of their body
        self.stall = 0  # seconds that a cut answer stays silent before it ends
        self.busy = 0  # answers 503
        self.retry_after = None
        self.etag = '"one"'
        self.modified = None
        self.data = DATA
        self.ranges = True  # False: Range is ignored
        self.honest = True  # False: If-Range is ignored, and Range obeyed for any version
        self.sized = True  # False: no Content-Length
        self.tells_416 = True  # the whole size in Content-Range of a 416
        self.short = 0  # bytes announced that do not come
        self.after_cut = lambda state: None

    def start(self):
        state = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                state.requests.append((self.path, dict(self.headers)))
                answer(state, self)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        loop = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        loop.start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def answer(state, handler):
    """Send what the path and the state ask for."""
    path = handler.path.split("?")[0]
    if state.busy:
        state.busy -= 1
        status(handler, 503, {"Retry-After": state.retry_after})
    elif path == "/missing":
        status(handler, 404, {})
    elif path == "/moved":
        status(handler, 302, {"Location": "/x"})
    elif path == "/page":
        body(state, handler, PAGE, 200, {"Content-Type": "text/html; charset=utf-8"})
    elif path == "/sly-page":
        body(state, handler, PAGE, 200, {})
    elif path == "/commented-page":
        body(state, handler, COMMENTED, 200, {})
    elif path == "/packed":
        body(state, handler, state.data, 200, {"Content-Encoding": "gzip"})
    else:
        file(state, handler)


def file(state, handler):
    """Send the data, or the rest that Range and If-Range ask for."""
    data, wanted = state.data, handler.headers.get("Range")
    version = state.etag or state.modified
    same = not state.honest or handler.headers.get("If-Range", version) == version
    if not (wanted and state.ranges and same):
        body(state, handler, data, 200, {})
        return
    start = int(wanted.removeprefix("bytes=").split("-")[0])
    if start >= len(data):
        status(handler, 416, {"Content-Range": f"bytes */{len(data)}" if state.tells_416 else None})
        return
    told = f"bytes {start}-{len(data) - 1}/{len(data)}"
    body(state, handler, data[start:], 206, {"Content-Range": told})


def status(handler, code, headers):
    handler.send_response(code)
    for name, value in headers.items():
        if value is not None:
            handler.send_header(name, str(value))
    handler.end_headers()


def body(state, handler, data, code, headers):
    """Send a body, cut, stalled or announced wrongly where the state says so."""
    length = str(len(data) + state.short) if state.sized else None
    status(
        handler,
        code,
        {
            "Content-Type": "application/octet-stream",
            "Content-Length": length,
            "ETag": state.etag,
            "Last-Modified": state.modified,
            **headers,
        },
    )
    cut = state.cuts > 0
    part = data[: max(1, len(data) // 3)] if cut else data
    try:
        handler.wfile.write(part)
        handler.wfile.flush()
    except OSError:
        return
    state.sent += len(part)
    if cut:
        state.cuts -= 1
        state.after_cut(state)
        if state.stall:
            threading.Event().wait(state.stall)
