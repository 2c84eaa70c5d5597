import hashlib
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pocket.data.download import fetch
from pocket.mistake import Mistake

RIGHT = bytes(range(256)) * 16
CHECKSUM = hashlib.sha256(RIGHT).hexdigest()


REASONS = {"wrong": "checksum", "cut": "checksum", "endless": "more than the 4096 bytes", "missing": "Not Found"}


class Mirror(BaseHTTPRequestHandler):
    """Serves by path: the right bytes, wrong ones, a cut file, or one without end."""

    def do_GET(self):
        self.server.asked.append(self.path)
        kind = self.path.strip("/")
        if kind == "missing":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(RIGHT)) if kind != "endless" else str(10**9))
        self.end_headers()
        if kind == "endless":
            self.send_endlessly()
        else:
            self.wfile.write({"right": RIGHT, "wrong": RIGHT[::-1], "cut": RIGHT[: len(RIGHT) // 2]}[kind])

    def send_endlessly(self):
        try:
            while True:
                self.wfile.write(bytes(1 << 16))
        except OSError:
            return

    def log_message(self, *arguments):
        pass


@pytest.fixture
def mirror(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    server.asked = []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_takes_the_first_mirror_that_has_the_right_file(mirror, tmp_path):
    urls = [f"{mirror.url}/{kind}" for kind in ("missing", "wrong", "cut", "right", "missing")]
    fetch(urls, CHECKSUM, len(RIGHT), tmp_path / "new" / "file.gz")
    assert (tmp_path / "new" / "file.gz").read_bytes() == RIGHT
    assert mirror.asked == ["/missing", "/wrong", "/cut", "/right"]
    assert os.listdir(tmp_path / "new") == ["file.gz"]


@pytest.mark.parametrize("kind", ["wrong", "cut", "endless", "missing"])
def test_stops_after_its_tries_and_deletes_only_its_own_file(mirror, tmp_path, kind):
    others = {"file.gz": b"the last good one", ".file.gz.1.part": b"another process's", "other": b"x"}
    for name, content in others.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(Mistake, match="POCKET_DATA") as caught:
        fetch([f"{mirror.url}/{kind}"], CHECKSUM, len(RIGHT), tmp_path / "file.gz", tries=3)
    assert mirror.asked == [f"/{kind}"] * 3
    assert "3 tries" in str(caught.value)
    assert REASONS[kind] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == others


def test_offline_is_one_line_that_says_what_to_do(tmp_path):
    with pytest.raises(Mistake, match=r"file\.gz could not be downloaded .*refused.*POCKET_DATA") as caught:
        fetch(["http://127.0.0.1:9/file.gz"], CHECKSUM, len(RIGHT), tmp_path / "file.gz")
    assert "\n" not in str(caught.value)


def test_serves_from_a_file_address(tmp_path):
    (tmp_path / "source").write_bytes(RIGHT)
    fetch([(tmp_path / "source").as_uri()], CHECKSUM, len(RIGHT), tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == RIGHT
