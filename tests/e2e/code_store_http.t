#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Code stores behind HTTP: Python's http.server gives pieces, and then wrong bytes, too many, none, redirects and errors. The files
# that ran are gone, so code comes from nowhere else.
import functools
import http.server
import json
import os
import shutil
import socket
import threading

from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run, skip

# No proxy of the caller's, and a cache of our own.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
ENVIRONMENT["PTL_CODE_CACHE"] = path("cache/of/code")


class Server(http.server.SimpleHTTPRequestHandler):
    """Gives the files of store/, or what `behave` does instead; counts requests."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and data are written one after the other
    behave = None
    asked = []

    def do_GET(self):
        Server.asked.append(self.path)
        if Server.behave is None or self.path.startswith("/plain/"):
            super().do_GET()
        else:
            Server.behave(self)

    def translate_path(self, path):
        return super().translate_path(path.removeprefix("/plain").removeprefix("/a%20b"))

    def log_message(self, *_):
        pass

    def answer(self, data, length=None):
        self.send_response(200)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:
            self.close_connection = True


def piece(request):
    with open(request.translate_path(request.path), "rb") as file:
        return file.read()


def endless(request):
    """As fast as it is read, and without a length."""
    request.send_response(200)
    request.end_headers()
    request.close_connection = True
    try:
        while True:
            request.wfile.write(bytes(1 << 16))
    except OSError:
        pass


def cut(request):
    request.answer(piece(request)[:-1], len(piece(request)))
    request.close_connection = True


def redirect(to):
    def behave(request):
        request.send_response(302)
        request.send_header("Location", to(request.path))
        request.send_header("Content-Length", "0")
        request.end_headers()
    return behave


def status(code):
    return lambda request: request.send_error(code)


def record():
    """A program with code that is in a file, and one whose code is in none; their pieces go to store/."""
    for program in "jit", "static_pie":
        shutil.copy(os.path.join(os.environ["PTL_PROGRAMS"], program), path("gone"))
        output(RECORD, "-q", "-o", program + ".ptl", "--", path("gone"))
        os.unlink(path("gone"))
        output(RELOG, "-q", program + ".ptl", "--detach-code", "store", "-o", program + "-less.ptl")


def stats(trace, *options):
    got = run(DUMP, "stats", "--json", "--hash", *options, trace, env=ENVIRONMENT)
    return json.loads(got.stdout) if got.stdout else None, got


def gaps(found):
    return sum(thread["gaps"] for process in found["processes"] for thread in process["threads"])


def kept():
    return sum(len(names) for _, _, names in os.walk(path("cache")))


def fresh(behave):
    """Nothing is kept, and the server behaves so."""
    shutil.rmtree(path("cache"), ignore_errors=True)
    Server.behave, Server.asked = behave, []


def serves(url):
    for trace in "jit", "static_pie":
        fresh(None)
        whole, _ = stats(trace + ".ptl")
        found, got = stats(trace + "-less.ptl", "--code-store", url + "///")
        check(f"{trace}: with the server, the flow is the same", found == whole and not got.stderr, got)
        check(f"{trace}: each piece is asked for once", Server.asked and len(set(Server.asked)) == len(Server.asked), Server.asked)
        had, Server.asked = len(Server.asked), []
        found, _ = stats(trace + "-less.ptl", "--code-store", url)
        check(f"{trace}: and then it is kept", found == whole and not Server.asked and kept() == had, Server.asked)
        output(RELOG, "-q", trace + "-less.ptl", "--attach-code", url, "-o", trace + "-again.ptl", env=ENVIRONMENT)
        check(f"{trace}: brought back, it needs no server", stats(trace + "-again.ptl")[0] == whole)
    ENVIRONMENT["PTL_CODE_STORE"] = url + "/a%20b"
    fresh(None)
    check("the environment may name a server", stats("jit-less.ptl")[0] == stats("jit.ptl")[0] and
          all(asked.startswith("/a%20b/") for asked in Server.asked), Server.asked)
    del ENVIRONMENT["PTL_CODE_STORE"]
    fresh(redirect(lambda asked: "/plain" + asked))
    check("redirects are followed", stats("jit-less.ptl", "--code-store", url)[0] == stats("jit.ptl")[0])


HOSTILE = {
    "wrong bytes": (lambda request: request.answer(piece(request)[:-1] + bytes([piece(request)[-1] ^ 1])), "not what its name says"),
    "no bytes": (lambda request: request.answer(b""), "not what its name says"),
    "more bytes": (lambda request: request.answer(piece(request) + b"x"), None),
    "an endless answer": (endless, "more than"),
    "an answer of 1 EB": (lambda request: request.answer(b"x" * 100, 1 << 60), None),
    "an answer that is cut off": (cut, None),
    "redirects without end": (redirect(lambda asked: asked), "redirect"),
    "a redirect to a file": (redirect(lambda asked: "file:///etc/passwd"), None),
    "an error of the server": (status(500), "500"),
    "nothing": (status(404), None),
}


def hostile(url):
    without, _ = stats("static_pie-less.ptl")
    for name, (behave, words) in HOSTILE.items():
        fresh(behave)
        found, got = stats("static_pie-less.ptl", "--code-store", url)
        warned = "the code store did not give" in got.stderr
        check(f"{name}: is not used, and said", found == without and gaps(found) and got.returncode == 0 and kept() == 0 and
              warned == (name != "nothing") and (words or "") in got.stderr, got, kept())
        check(f"{name}: nothing is asked for again and again", len(Server.asked) <= 20, Server.asked)
    fresh(HOSTILE["wrong bytes"][0])
    got = run(RELOG, "-q", "jit-less.ptl", "--attach-code", url, "-o", "bad.ptl", env=ENVIRONMENT)
    check("wrong bytes are not brought back", got.returncode == 0 and "not what its name says" in got.stderr and
          "are not in" in got.stderr and kept() == 0, got)
    fresh(None)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
    found, got = stats("static_pie-less.ptl", "--code-store", nobody)
    check("a server that is not there is said, and the rest is shown", found == without and "did not give" in got.stderr, got)


def mistakes(url):
    for wrong, words in ((url + "/?x=", "https://server/folder"), ("ftp://server/store", "there is no folder"),
                         ("http://" + "x" * 3000, "https://server/folder")):
        _, got = stats("jit-less.ptl", "--code-store", wrong)
        check(f"{wrong[:20]} is a mistake", got.returncode == 2 and words in got.stderr, got)
    got = run(RELOG, "jit.ptl", "--detach-code", url, "-o", "no.ptl", env=ENVIRONMENT)
    check("a server is not written to", got.returncode == 2 and "only read" in got.stderr and not os.path.exists(path("no.ptl")), got)
    fresh(None)
    got = run(DUMP, "stats", "jit-less.ptl", "--code-store", url, env={"PATH": ENVIRONMENT["PATH"]})
    check("without a HOME, a place has to be named", got.returncode == 2 and "PTL_CODE_CACHE" in got.stderr, got)
    with open(path("file"), "wb"):
        pass
    got = run(DUMP, "stats", "jit-less.ptl", "--code-store", url, env={**ENVIRONMENT, "PTL_CODE_CACHE": path("file/in")})
    check("a place that takes nothing is said", "did not give" in got.stderr and "file" in got.stderr, got)


record()
SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=path("store")))
URL = f"http://127.0.0.1:{SERVER.server_port}"
SERVER.handle_error = lambda *_: None  # of a client that leaves
threading.Thread(target=SERVER.serve_forever, daemon=True).start()
if "libcurl" in stats("jit-less.ptl", "--code-store", URL)[1].stderr:
    skip("a code store behind HTTP", "libcurl is not installed")
else:
    serves(URL)
    hostile(URL)
    mistakes(URL)
SERVER.shutdown()
plan()
