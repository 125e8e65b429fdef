# SPDX-License-Identifier: BSD-2-Clause
# A server that answers like debuginfod.
import contextlib
import http.server
import threading


def serve(find):
    """Starts a server on a free port. find(path): returns the requested bytes, or None."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            data = find(self.path)
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            # An interrupted client closes the connection early.
            with contextlib.suppress(BrokenPipeError):
                self.wfile.write(data or b"")

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
