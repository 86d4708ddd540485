"""A server for Instep's clients, with aiohttp and SQLite: one process, one connection. README.md says how to start it.

It keeps to the core of the protocol, and has POST /tx, `epoch`, `tx` and a hello. Users see only their own records.
"""
from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import re
import socket
import sqlite3
import sys
import time
from typing import Any

from aiohttp import WSCloseCode, web

Json = dict[str, Any]

BASE = "/sync/v1"
FEATURES = ["tx"]  # every frame names the transaction that made it
MAX_BYTES = 1024 * 1024  # of a request, and of a record
MAX_SID = 2**53 - 1
UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")  # NUL, or half of a surrogate pair
HEADERS = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "Authorization, Content-Type",
           "Access-Control-Expose-Headers": "Retry-After", "Cache-Control": "no-store"}
SCHEMA = """
create table if not exists history (name text not null);
insert into history select hex(randomblob(8)) where not exists (select * from history);
create table if not exists records (t text, id text, owner text, v integer, p text, primary key (t, id));
create index if not exists records_by_owner on records (owner);
create table if not exists changes (sid integer primary key, owner text, tx text, t text, id text, frame text);
create index if not exists changes_by_owner on changes (owner, sid);
create index if not exists changes_by_record on changes (t, id, sid);
create table if not exists verdicts (owner text, id text, body text, verdict text, primary key (owner, id));
"""


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def is_sid(value: Any) -> bool:
    return type(value) is int and abs(value) <= MAX_SID  # not isinstance: True is an int, too


def is_transaction(tx: Any) -> bool:
    if not (isinstance(tx, dict) and is_sid(tx.get("since")) and isinstance(tx.get("ops"), list) and tx["ops"]):
        return False
    bases, requires = tx.get("bases", []), tx.get("requires", [])
    return isinstance(bases, list) and isinstance(requires, list) and all(
        isinstance(id, str) and 1 <= len(id) <= 64 and not UNSTORABLE.search(id)
        for id in [tx.get("id"), *bases, *requires])


def read_transactions(body: bytes) -> list[Json]:
    """The transactions of a request. `check_op` finds what is wrong inside an op, which rejects one of them alone."""
    request = json.loads(body.decode())
    txs = request.get("txs") if isinstance(request, dict) else None
    if not (isinstance(txs, list) and txs and all(map(is_transaction, txs))):
        raise ValueError("The body is not a list of transactions.")
    for tx in txs:
        content = json.dumps([tx["ops"], tx.get("requires", [])], sort_keys=True)
        tx["body"] = hashlib.sha256(content.encode()).hexdigest()
    return txs


class Rejected(Exception):
    """A transaction is rejected: none of its ops is carried out."""

    def __init__(self, code: str, message: str, **details: Any):
        self.error = {"code": code, "message": message, **({"details": details} if details else {})}


def check_op(op: Any, place: int) -> None:
    def expect(condition: bool, message: str) -> None:
        if not condition:
            raise Rejected("invalid", message, op=place)

    left = [(op, 1)]
    while left:  # a loop, because 500 levels are too many for Python's stack
        value, level = left.pop()
        if isinstance(value, str):
            expect(not UNSTORABLE.search(value), "A text holds NUL or half of a surrogate pair.")
        elif isinstance(value, (int, float)):
            expect(abs(value) <= sys.float_info.max, "A number is beyond the range of a double.")
        elif isinstance(value, (dict, list)):
            expect(level <= 500, "The op nests deeper than 500 levels.")
            expect(isinstance(value, list) or "__proto__" not in value, "__proto__ is no name of a field.")
            children = [*value, *value.values()] if isinstance(value, dict) else value
            left += [(child, level + 1) for child in children]

    expect(isinstance(op, dict) and op.get("op") in ("i", "u", "d"), "The op is unknown.")
    for name in (op.get("t"), op.get("id")):
        expect(isinstance(name, str) and name != "__proto__", "t or id is no name.")
        expect(len(name.encode("utf-16-le")) <= 2 * 255, "t or id is too long.")
    expect(op["op"] == "d" or isinstance(op.get("p"), dict), "p is no object.")
    expect(isinstance(op.get("put", False), bool), "put is no boolean.")
    expect(is_sid(op.get("unchangedSince", 0)), "unchangedSince is no sid.")
    # No client sends these, because FEATURES does not list them. To ignore them would change what has to stay.
    expect(not op.keys() & {"was", "unset", "restores"}, "was, unset and restores are not supported.")


class Database:
    """No method awaits anything, so each sees, or makes, one state of the data."""

    def __init__(self, file: str):
        self.db = sqlite3.connect(file, isolation_level=None)  # None: a transaction begins where this file says so
        self.db.execute("pragma journal_mode = wal")
        self.db.execute("pragma synchronous = full")  # a verdict that was sent must survive a power failure
        self.db.executescript(SCHEMA)

    def head(self) -> Json:
        epoch, sid = self.db.execute("select name, (select max(sid) from changes) from history").fetchone()
        return {"sid": sid or 0, "epoch": epoch}

    def bootstrap(self, user: str) -> Json:
        with self.db:
            self.db.execute("begin")  # one snapshot for the head and the rows
            rows = self.db.execute("select t, id, v, p from records where owner = ?", (user,))
            return {**self.head(), "rows": [{"t": t, "id": id, "v": v, "p": json.loads(p)} for t, id, v, p in rows]}

    def delta(self, user: str, since: int) -> Json:
        """The log is kept forever. A server that shortens it responds with 410 to a `since` before its start."""
        with self.db:
            self.db.execute("begin")
            frames = self.db.execute(
                "select frame from changes where owner = ? and sid > ? order by sid", (user, since))
            return {**self.head(), "frames": [json.loads(frame) for frame, in frames]}

    def verdict(self, user: str, id: str) -> tuple[str | None, Json]:
        row = self.db.execute("select body, verdict from verdicts where owner = ? and id = ?", (user, id)).fetchone()
        return (row[0], json.loads(row[1])) if row else (None, {})

    def decide(self, user: str, tx: Json) -> Json:
        """The verdict on a transaction: `{"sid"}` or `{"error"}`. The same id gets the same verdict again."""
        with self.db:
            self.db.execute("begin immediate")  # the lock comes before the first number is taken
            body, verdict = self.verdict(user, tx["id"])
            if body is not None:
                reused = {"code": "id_reused", "message": "The id was used for another body.", "details": verdict}
                return verdict if body == tx["body"] else {"error": reused}
            self.db.execute("savepoint ops")
            try:
                verdict = {"sid": self.apply(user, tx)}
            except Rejected as rejected:
                self.db.execute("rollback to ops")
                verdict = {"error": rejected.error}
            self.db.execute("insert into verdicts values (?, ?, ?, ?)", (user, tx["id"], tx["body"], dumps(verdict)))
            return verdict

    def apply(self, user: str, tx: Json) -> int:
        for place, op in enumerate(tx["ops"]):
            check_op(op, place)
        for id in tx.get("requires", []):
            if "sid" not in self.verdict(user, id)[1]:
                raise Rejected("dependency_rejected", f"{id} was not accepted.")
        changed = [self.has_changed(user, tx, op) for op in tx["ops"]]
        for op, has_changed in zip(tx["ops"], changed):
            self.apply_op(user, tx["id"], op, has_changed)
        return self.head()["sid"]

    def has_changed(self, user: str, tx: Json, op: Json) -> bool:
        """Whether others have changed the record. In another history, or above the head, nobody knows: then yes."""
        if "unchangedSince" not in op:
            return False
        head = self.head()
        is_other_history = isinstance(tx.get("epoch"), str) and tx["epoch"] != head["epoch"]
        since = 0 if is_other_history else op["unchangedSince"]
        made_by = self.db.execute(
            "select tx from changes where owner = ? and t = ? and id = ? and sid > ?", (user, op["t"], op["id"], since))
        return since > head["sid"] or any(maker not in tx.get("bases", []) for maker, in made_by)

    def apply_op(self, user: str, tx: str, op: Json, has_changed: bool) -> None:
        kind, t, id = op["op"], op["t"], op["id"]
        found = self.db.execute("select owner, p from records where t = ? and id = ?", (t, id)).fetchone()
        is_own = found is not None and found[0] == user
        if kind == "i" and found and not (is_own and op.get("put")):
            raise Rejected("exists", f"{id} exists.")  # also if it is another user's: the id is taken
        if kind == "u" and not is_own:
            raise Rejected("not_found", f"There is no {id}.")
        if kind == "d" and not is_own:
            return
        if has_changed:
            raise Rejected("conflict", f"{id} has changed.")

        sid = self.head()["sid"] + 1
        frame = {"sid": sid, "t": t, "id": id, "op": kind, "tx": tx, "at": int(time.time() * 1000)}
        if kind == "d":
            self.db.execute("delete from records where t = ? and id = ?", (t, id))
        else:
            frame["p"] = op["p"]
            p = dumps(op["p"] if kind == "i" else {**json.loads(found[1]), **op["p"]})
            if len(p.encode()) > MAX_BYTES:  # many updates could make a record that no snapshot can hold
                raise Rejected("too_large", f"{id} is too long.")
            self.db.execute("replace into records values (?, ?, ?, ?, ?)", (t, id, user, sid, p))
        self.db.execute("insert into changes values (?, ?, ?, ?, ?, ?)", (sid, user, tx, t, id, dumps(frame)))


def failure(status: int, code: str, message: str, **headers: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=status, headers=headers)


class Server:
    def __init__(self, database: Database, users: dict[str, str], expired: list[str]):
        self.database, self.users, self.expired = database, users, expired
        self.sockets: dict[web.WebSocketResponse, tuple[str, asyncio.Event]] = {}  # the user, and "there is news"

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self.guard], client_max_size=MAX_BYTES + 1)
        for name in ("bootstrap", "delta", "ws"):
            app.router.add_get(f"{BASE}/{name}", getattr(self, name))
        app.router.add_post(f"{BASE}/tx", self.tx)
        app.on_response_prepare.append(self.add_headers)
        app.on_shutdown.append(self.close_sockets)
        return app

    async def add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(HEADERS)  # failures, too: otherwise a page of another origin cannot read them

    @web.middleware
    async def guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.method == "OPTIONS":
            return web.Response(status=204)  # a preflight has no token
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":  # a page cannot set a header of its socket
            token = request.query.get("token", "") if request.path == f"{BASE}/ws" else ""
        if token not in self.users:
            code = "token_expired" if token in self.expired else "invalid_token" if token else "no_token"
            return failure(401, code, "There is no valid token.", **{"WWW-Authenticate": "Bearer"})
        request["user"] = self.users[token]
        return await handler(request)

    async def bootstrap(self, request: web.Request) -> web.Response:
        return web.json_response(self.database.bootstrap(request["user"]), dumps=dumps)

    async def delta(self, request: web.Request) -> web.Response:
        since = request.query.get("since", "")
        if not re.fullmatch("[0-9]{1,16}", since) or int(since) > MAX_SID:
            return failure(400, "bad_since", "since is no integer from 0 to 2^53 - 1.")
        return web.json_response(self.database.delta(request["user"], int(since)), dumps=dumps)

    async def tx(self, request: web.Request) -> web.Response:
        user, results = request["user"], []
        try:
            txs = read_transactions(await request.read())
        except (ValueError, RecursionError) as error:
            return failure(400, "bad_request", str(error))
        except web.HTTPRequestEntityTooLarge:  # without such a body, it would look like a proxy's
            return failure(413, "too_large", "The body is too long.")
        for tx in txs:
            results.append({"id": tx["id"], **self.database.decide(user, tx)})
            for owner, news in self.sockets.values():
                if owner == user:
                    news.set()
        return web.json_response({**self.database.head(), "features": FEATURES, "results": results}, dumps=dumps)

    async def ws(self, request: web.Request) -> web.StreamResponse:
        ws = web.WebSocketResponse(heartbeat=25, timeout=2)
        if not ws.can_prepare(request):
            return failure(426, "upgrade_required", "This address is for a WebSocket.", Upgrade="websocket")
        await ws.prepare(request)
        news = asyncio.Event()
        self.sockets[ws] = (request["user"], news)
        pushing = asyncio.create_task(self.push(ws, request["user"], news))
        try:
            async for _ in ws:  # clients send nothing; this ends when the socket closes
                pass
        finally:
            del self.sockets[ws]
            pushing.cancel()
        await ws.close(code=WSCloseCode.SERVICE_RESTART)  # does nothing if the client has closed it
        return ws

    async def push(self, ws: web.WebSocketResponse, user: str, news: asyncio.Event) -> None:
        """Reads the log whenever there is news. So a slow socket delays only itself, and nothing piles up for it."""
        head = self.database.head()
        with contextlib.suppress(ConnectionError):
            await ws.send_str(dumps({"hello": {**head, "features": FEATURES}}))
            while await news.wait():
                news.clear()
                head = self.database.delta(user, head["sid"])
                if head["frames"]:
                    await ws.send_str(dumps(head["frames"]))

    async def close_sockets(self, app: web.Application) -> None:
        await asyncio.gather(*[ws.close(code=WSCloseCode.SERVICE_RESTART) for ws in self.sockets])


def main() -> None:
    parser = argparse.ArgumentParser(description="A server for Instep's clients.", allow_abbrev=False)
    parser.add_argument("--port", type=int, default=8080, help="0 picks a free one")
    parser.add_argument("--database", required=True, metavar="FILE")
    parser.add_argument("--token", nargs=2, action="append", default=[], metavar=("TOKEN", "USER"))
    parser.add_argument("--expired-token", action="append", default=[], metavar="TOKEN")
    args = parser.parse_args()

    database = Database(args.database)
    app = Server(database, dict(args.token), args.expired_token).app()
    listener = socket.create_server(("127.0.0.1", args.port))
    print(f"Listening on http://127.0.0.1:{listener.getsockname()[1]}{BASE}", flush=True)
    web.run_app(app, sock=listener, access_log=None, print=None)  # an access log would hold the tokens of sockets
    database.db.close()


if __name__ == "__main__":
    main()
