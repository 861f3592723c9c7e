"""Keys, scopes, rotation, TLS; and that no key ever reaches a log."""

import json
import shutil
import socket
import time

import pytest

from serving import HUP, SUBMISSION, Client, close_code, eventually


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def test_scopes(serve, new_key):
    reader, writer, admin = new_key("r", "read"), new_key("w", "submit"), new_key("a", "admin")
    assert new_key.path.stat().st_mode & 0o077 == 0
    server = serve("--host", "0.0.0.0", "--api-key-file", new_key.path)
    ask = lambda key, method, path, body=None: server.request(
        method, path, body, bearer(key) if key else {})
    assert ask(None, "GET", "/healthz")[0] == 200
    status, fields, text = ask(None, "GET", "/v1/queue")
    assert status == 401 and fields["www-authenticate"].startswith("Bearer") and "assay keys new" in text
    assert ask(None, "GET", "/metrics")[0] == 401
    assert ask(reader, "GET", "/metrics")[0] == 200
    assert ask(reader, "GET", "/v1/queue")[0] == 200
    assert ask(reader, "POST", "/v1/submissions", SUBMISSION)[0] == 403
    status, _, text = ask(writer, "POST", "/v1/submissions?wait=10", SUBMISSION)
    assert status == 200
    job = json.loads(text)["id"]
    assert ask(reader, "GET", f"/v1/submissions/{job}")[0] == 404  # another's
    assert ask(admin, "GET", f"/v1/submissions/{job}")[0] == 200
    assert server.request("GET", "/v1/queue", headers={"X-API-Key": reader})[0] == 200


def test_every_error_below_v1_has_its_shape(serve, new_key):
    """OpenEnv's, which shares the port, says {"detail": ...}."""
    key = new_key("r", "read")
    server = serve("--api-key-file", new_key.path)
    for method, path, headers, status, code in [
            ("GET", "/v1/foo", bearer(key), 404, "not_found"),
            ("DELETE", "/v1/queue", bearer(key), 405, "method_not_allowed"),
            ("GET", "/v1/queue", {}, 401, "unauthorized"),
            ("POST", "/v1/submissions", bearer(key), 403, "forbidden")]:
        said, _, text = server.request(method, path, headers=headers)
        error = json.loads(text)["error"]
        assert (said, error["code"]) == (status, code) and error["message"] and error["request_id"]
    assert json.loads(server.request("GET", "/foo", headers=bearer(key))[2]) == {"detail": "Not Found"}


def test_wrong_keys_are_slowed_down(serve, new_key):
    key = new_key("me", "read")
    server = serve("--api-key-file", new_key.path)
    statuses = [server.request("GET", "/v1/queue", headers=bearer(f"wrong-key-{i}"))[0] for i in range(12)]
    assert statuses == [401] * 10 + [429] * 2
    status, fields, _ = server.request("GET", "/v1/queue", headers=bearer("wrong-key"))
    assert status == 429 and 1 <= int(fields["retry-after"]) <= 7
    assert server.request("GET", "/v1/queue", headers=bearer(key))[0] == 200, "behind the same address"
    assert 'assay_http_throttled_total{reason="wrong_keys"} 3' in server.request("GET", "/metrics", headers=bearer(key))[2]
    assert server.request("GET", "/healthz")[0] == 200


def test_rotation(serve, new_key):
    old = new_key("trainer", "submit")
    server = serve("--api-key-file", new_key.path)
    session = Client(server.port)
    assert session.upgrade("/ws", bearer(old)) == 101
    new_key.path.unlink()
    new = new_key("trainer", "submit")
    assert server.request("GET", "/v1/queue", headers=bearer(old))[0] == 200
    server.signal(HUP)
    assert eventually(lambda: server.request("GET", "/v1/queue", headers=bearer(new))[0] == 200)
    assert server.request("GET", "/v1/queue", headers=bearer(old))[0] == 401
    opcode, payload = session.read_frame()
    assert (opcode, close_code(payload)) == (8, 1008)
    new_key.path.write_text("rubbish\n")
    server.signal(HUP)
    assert eventually(lambda: "kept the old keys" in server.log())
    assert server.request("GET", "/v1/queue", headers=bearer(new))[0] == 200


def test_keys_in_queries_only_where_allowed(serve, new_key):
    key = new_key("me", "submit")
    server = serve("--api-key-file", new_key.path)
    with Client(server.port) as client:
        assert client.upgrade(f"/ws?token={key}") == 401
    allowing = serve("--api-key-file", new_key.path, "--allow-token-query",
                     store=new_key.path.parent / "other.db")
    with Client(allowing.port) as client:
        assert client.upgrade(f"/ws?token={key}") == 101
    assert allowing.request("GET", f"/v1/queue?token={key}")[0] == 401
    assert key not in allowing.log() and key not in server.log()


def test_no_key_in_logs(serve, new_key):
    key = new_key("me", "submit")
    server = serve("--api-key-file", new_key.path)
    server.request("GET", "/v1/queue", headers=bearer(key))
    server.request("GET", "/v1/queue", headers={"X-API-Key": key})
    server.request("POST", "/v1/submissions", SUBMISSION, bearer(key))
    server.request("GET", "/v1/queue", headers=bearer("a-wrong-secret-of-mine"))
    assert eventually(lambda: server.log().count("path=") >= 4)
    assert key not in server.log() and "a-wrong-secret-of-mine" not in server.log()
    assert "ModelNew" not in server.log()
    assert "key=me" in server.log()


def test_quota_of_a_key(serve, new_key):
    key = new_key("me", "read")
    new_key.path.write_text(new_key.path.read_text().strip() + " rps=1 connections=2\n")
    server = serve("--api-key-file", new_key.path)
    statuses = [server.request("GET", "/v1/queue", headers=bearer(key))[0] for _ in range(4)]
    assert statuses == [200, 200, 429, 429]


def test_other_web_pages_are_refused(serve):
    server = serve()
    assert server.request("GET", "/healthz", headers={"Host": "evil.example"})[0] == 421
    with Client(server.port) as client:
        assert client.upgrade("/ws", {"Origin": "https://evil.example"}) == 403


def test_keys_new(run_assay, tmp_path):
    result = run_assay("keys", "new", "--name", "x", "--scope", "read")
    assert result.returncode == 0 and result.stdout.startswith("ak_") and "sha256:" in result.stderr
    assert run_assay("keys", "new", "--name", "no spaces please").returncode == 2
    path = tmp_path / "keys"
    path.write_text("rubbish\n")
    assert run_assay("keys", "new", "--name", "x", "--file", path).returncode == 2
    assert path.read_text() == "rubbish\n"


def test_tls(serve, certificate):
    ssl = pytest.importorskip("ssl", exc_type=ImportError)
    cert, key = certificate("first")
    server = serve("--tls-cert", cert, "--tls-key", key)
    context = ssl.create_default_context(cafile=cert)
    secure = lambda sock: context.wrap_socket(sock, server_hostname="localhost")
    with Client(server.port, wrap=secure) as client:
        assert client.request("GET", "/healthz")[0] == 200
        assert client.request("GET", "/healthz")[0] == 200
    with Client(server.port, wrap=secure) as client:
        assert client.upgrade() == 101
        assert client.ask({"type": "state"})["type"] == "state"
        client.frame(1, b"x" * 3_000_000)
        assert client.read_frame()[0] == 1
    with Client(server.port) as plain:
        plain.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" not in plain.rest()
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, OSError)):
        Client(server.port, wrap=lambda sock: old.wrap_socket(sock))

    def subject():
        with socket.create_connection(("127.0.0.1", server.port)) as raw:
            insecure = ssl._create_unverified_context()
            with insecure.wrap_socket(raw) as sock:
                return sock.getpeercert(binary_form=True)

    before = subject()
    certificate("second")
    server.signal(HUP)
    assert eventually(lambda: subject() != before)


def test_tls_files_that_do_not_fit(run_assay, certificate, tmp_path):
    cert, key = certificate("one")
    shutil.copy(key, tmp_path / "old.pem")
    certificate("two")
    result = run_assay("serve", "--port", 0, "--runner", "echo", "--store", tmp_path / "s.db",
                       "--tls-cert", cert, "--tls-key", tmp_path / "old.pem")
    assert result.returncode == 2 and "--tls-key" in result.stderr


def test_a_client_that_never_finishes_its_handshake(serve, certificate):
    cert, key = certificate("x")
    server = serve("--tls-cert", cert, "--tls-key", key)
    with socket.create_connection(("127.0.0.1", server.port)) as idle:
        idle.settimeout(20)
        start = time.monotonic()
        assert idle.recv(1) == b""
        assert 5 < time.monotonic() - start < 15


def test_top_speaks_https_with_whom_it_believes(serve, certificate, new_key, run_assay, tmp_path):
    cert, key = certificate("first")
    (tmp_path / "key").write_text(new_key("me", "read"))
    server = serve("--tls-cert", cert, "--tls-key", key, "--api-key-file", new_key.path)

    def top(host, *arguments, scheme="https"):
        shown = run_assay("top", f"{scheme}://{host}:{server.port}", "--once", "--key-file", tmp_path / "key", *arguments)
        return shown.returncode, shown.stdout + shown.stderr

    for host in ("localhost", "127.0.0.1"):
        code, text = top(host, "--ca-file", cert)
        assert code == 0 and "echo" in text, text
    code, text = top("localhost")
    assert code == 3 and "not trusted" in text and "self" in text, text
    code, text = top("127.1", "--ca-file", cert)  # the same server by a name that its certificate does not have
    assert code == 3 and "not trusted" in text and "mismatch" in text, text
    assert top("localhost", "--insecure")[0] == 0
    assert top("localhost", "--ca-file", key)[0] == 2
    code, text = top("localhost", scheme="http")
    assert code == 3 and "https" in text, text
    assert tmp_path.joinpath("key").read_text() not in server.log()
