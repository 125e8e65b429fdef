# SPDX-License-Identifier: BSD-2-Clause
# Database servers for tests: in a folder of their own, run by a user without privileges, and removed at the end.
"""Postgres() and ClickHouse() start a server or raise Missing. query() returns rows of text, None for null."""
import atexit
import ctypes
import glob
import http.client
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

WAIT = 60  # seconds for a server to answer
NOBODY = 65534
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
# An environment without the caller's configuration, locale and time zone.
PLAIN = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC"}


class Missing(RuntimeError):
    """The server is not installed."""


class Refused(RuntimeError):
    """The server's error."""


def program(name, *places):
    found = sorted(path for place in places for path in glob.glob(os.path.join(place, name)))
    found = found[-1] if found else shutil.which(name)
    if not found:
        raise Missing(f"{name} is not installed: make check-databases installs it")
    return found


class Server:
    """Common to both servers: a folder, a user, a process."""
    end = signal.SIGKILL

    def __init__(self):
        # Not in TMPDIR: a socket's path has at most 107 bytes, and the user may not enter our folders.
        self.folder = tempfile.mkdtemp(prefix="ptl-", dir="/tmp")
        self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        if self.user:
            os.chown(self.folder, NOBODY, NOBODY)
        self.environment = {**PLAIN, "HOME": self.folder}
        self.process = None
        atexit.register(self.stop)

    def run(self, *command, **more):
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, check=False, **self.user, **more)

    def start(self, *command):
        with open(os.path.join(self.folder, "output"), "wb") as log:
            # The server ends with this process, even after a crash.
            self.process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, self.end), **self.user)
        end = time.monotonic() + WAIT
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                with open(os.path.join(self.folder, "output"), errors="replace") as log:
                    raise Refused(f"{command[0]} does not start: {log.read()[-2000:]}")
            time.sleep(0.05)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(self.end)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path

    def answers(self):
        try:
            return self.query("SELECT 1") == [["1"]]
        except (Refused, OSError):
            return False


def cells(line):
    """Splits a line of tab-separated text as both databases write it; bytes other than UTF-8 become surrogates."""
    plain = {ord("t"): 9, ord("n"): 10, ord("r"): 13, ord("b"): 8, ord("f"): 12, ord("v"): 11, ord("0"): 0}

    def unescape(cell):
        result, escaped = bytearray(), False
        for byte in cell:
            if byte == ord("\\") and not escaped:
                escaped = True
                continue
            result.append(plain.get(byte, byte) if escaped else byte)
            escaped = False
        return bytes(result).decode("utf-8", "surrogateescape")
    return [None if cell == b"\\N" else unescape(cell) for cell in line.split(b"\t")]


class Postgres(Server):
    """Listens on a Unix socket only."""
    end = signal.SIGQUIT  # ends the server's processes, too

    def __init__(self):
        folders = glob.glob("/usr/lib/postgresql/*/bin")
        self.initdb, self.postgres, self.psql = (program(name, *folders) for name in ("initdb", "postgres", "psql"))
        super().__init__()
        data = os.path.join(self.folder, "data")
        got = self.run(self.initdb, "-D", data, "-U", "ptl", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions")
        if b"could not look up effective user" in got.stderr:
            raise Missing("PostgreSQL runs for no user without a name")
        if got.returncode:
            raise Refused(got.stderr.decode(errors="replace"))
        # A time zone far from UTC: times must not depend on it.
        self.start(self.postgres, "-D", data, "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "timezone=Asia/Tokyo")

    def script(self, data):
        """Lets psql read statements, as a user does."""
        return self.run(self.psql, "-X", "-q", "-h", self.folder, "-U", "ptl", "-d", "postgres", "-v", "ON_ERROR_STOP=1", input=data)

    def query(self, statement, head=False):
        """Returns the rows of a query. head: the first row has the names of the columns."""
        copy = f"COPY ({statement.strip().rstrip(';')}) TO STDOUT (HEADER {'on' if head else 'off'})"
        got = self.script(copy.encode())
        if got.returncode:
            raise Refused(f"{statement}: {got.stderr.decode(errors='replace')}")
        return [cells(line) for line in got.stdout.split(b"\n")[:-1]]

    def shown(self, statement):
        return self.script(statement.encode()).stdout.decode()


CONFIGURATION = """<yandex>
<logger><level>error</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host><http_port>{1}</http_port><tcp_port>{2}</tcp_port><interserver_http_port>{3}</interserver_http_port>
<path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path><users_config>{0}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>1000000</mark_cache_size>
</yandex>
"""
USERS = """<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default>
<password>{0}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
</default></users></yandex>
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class ClickHouse(Server):
    """Listens on the loopback interface, with a password."""

    def __init__(self):
        server = program("clickhouse-server", "/usr/sbin")
        super().__init__()
        self.password = secrets.token_hex(16)
        self.port, *others = free_ports(3)
        self.write("users.xml", USERS.format(self.password))
        configuration = self.write("config.xml", CONFIGURATION.format(self.folder, self.port, *others))
        self.start(server, "--config-file=" + configuration)

    def send(self, statement, data=b""):
        """Sends a statement with its data. Returns the server's answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        where = "/?" + urllib.parse.urlencode({"query": statement} if data else {})
        connection.request("POST", where, data or statement.encode(),
                           {"X-ClickHouse-User": "default", "X-ClickHouse-Key": self.password})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status != 200:
            raise Refused(f"{statement}: {text.decode(errors='replace')}")
        return text

    def query(self, statement, head=False):
        text = self.send(statement.strip().rstrip(";") + " FORMAT TabSeparated" + ("WithNames" if head else ""))
        return [cells(line) for line in text.split(b"\n")[:-1]]
