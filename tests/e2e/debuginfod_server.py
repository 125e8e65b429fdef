# SPDX-License-Identifier: BSD-2-Clause
# A server that answers as debuginfod does.
import contextlib
import http.server
import threading


def serve(find):
    """Starts one on a free port of this machine. find(path): the bytes of what is asked for, or None if there is nothing."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            data = find(self.path)
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            # Who is interrupted has gone before it has all.
            with contextlib.suppress(BrokenPipeError):
                self.wfile.write(data or b"")

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
