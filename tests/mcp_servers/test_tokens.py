"""Who may call: bearer tokens, scopes, budgets, rates, hosts, and whose runs are whose."""

import asyncio
import hashlib
import hmac
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
import teams
from sqlalchemy import select

from pointwork import Budget
from pointwork.budgets import to_nano
from pointwork.errors import BudgetExceeded, ConfigError, RateLimited, UsageError
from pointwork.ledger import Amount, Ledger
from pointwork.mcp_servers import principals
from pointwork.mcp_servers.http import http_app
from pointwork.mcp_servers.principals import Accounts, Caller, find_caller, one_token, read_tokens
from pointwork.mcp_servers.server import AgentServer
from pointwork.store import Store
from pointwork.store.tables import accounts

KEY, OTHER, READER = "correct-horse-battery", "another-horse-battery", "reading-horse-battery"

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "team", "arguments": {"task": "x"}}}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
INIT = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def caller(token: str, name: str = "desk", **limits: Any) -> Caller:
    return Caller(name, hashlib.sha256(token.encode()).digest(), **limits)


def post(url: str, body: Any, **headers: str) -> httpx2.Response:
    with httpx2.Client(timeout=30) as client:
        return client.post(url, json=body, headers={**HEADERS, **headers})


def test_without_the_right_token_nothing_is_served(over_http: Any) -> None:
    with over_http(caller(KEY)) as over:
        for headers in ({}, {"Authorization": f"Bearer {OTHER}"}, {"Authorization": f"Basic {KEY}"}):
            for body in (INIT, PING, CALL):
                refused = post(over.url, body, **headers)
                assert refused.status_code == 401
                assert refused.headers["www-authenticate"].startswith("Bearer ")
        # not in the address either: it would stand in logs
        assert post(f"{over.url}?access_token={KEY}", INIT).status_code == 401
        assert post(over.url, INIT, Authorization=f"Bearer {KEY}").status_code == 200


def test_a_token_that_may_only_read_may_not_run(over_http: Any) -> None:
    with over_http(caller(READER, scopes=("read",))) as over:
        allowed = post(over.url, INIT, Authorization=f"Bearer {READER}")
        assert allowed.status_code == 200
        for body in (CALL, [CALL]):
            refused = post(over.url, body, Authorization=f"Bearer {READER}")
            assert refused.status_code == 403
            assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
        with httpx2.Client(timeout=30) as client:
            deep = "[" * 5000 + "]" * 5000
            refused = client.post(over.url, content=deep, headers={**HEADERS, "Authorization": f"Bearer {READER}"})
            assert refused.status_code == 400

        async def go() -> None:
            async with over.client(READER) as client:
                assert (await client.list_tools()).tools
                with pytest.raises(Exception, match="."):
                    await client.call_tool("team", {"task": teams.SUM})

        asyncio.run(go())
    assert teams.ended == []


def test_each_token_sees_its_own_runs(over_http: Any) -> None:
    with over_http(caller(KEY, "one"), caller(OTHER, "two")) as over:

        async def go() -> None:
            async with over.client(KEY) as one, over.client(OTHER) as two:
                mine = (await one.call_tool("team", {"task": teams.SUM})).structured_content
                assert mine["text"] == "6.0"
                uri = f"run://{mine['run_id']}"
                assert [str(r.uri) for r in (await one.list_resources()).resources] == [uri]
                assert (await two.list_resources()).resources == []
                for other in (uri, uri.replace("run://", "trajectory://")):
                    with pytest.raises(Exception, match="no run"):
                        await two.read_resource(other)
                refused = await two.call_tool("resume", {"run_id": mine["run_id"]})
                assert refused.is_error
                assert "no run" in refused.structured_content["error"]["message"]

        asyncio.run(go())


def test_a_token_has_a_budget_over_all_its_runs(over_http: Any, store: Store) -> None:
    poor = caller(KEY, "poor", tokens=1500)
    with over_http(poor) as over:

        async def go() -> list[dict[str, Any]]:
            said: list[dict[str, Any]] = []
            async with over.client(KEY) as client:
                while len(said) < 60 and (not said or said[-1]["status"] == "ok"):
                    said.append((await client.call_tool("team", {"task": teams.SUM})).structured_content)
            return said

        said = asyncio.run(go())
    assert said[0]["status"] == "ok"
    assert said[-1]["status"] == "budget_exhausted"
    spent = sum(value["cost"]["tokens"] for value in said)
    assert 0 < spent <= 1500
    # kept in the store: another process knows of it
    assert Accounts(store).spent(poor)[1] == spent
    with pytest.raises(BudgetExceeded, match="poor: all of"):
        Accounts(store).grant(caller(KEY, "poor", tokens=spent), Budget())


def test_grants_at_once_can_not_overdraw(store: Store) -> None:
    books, who = Accounts(store), caller(KEY, usd=1.0)
    first = books.grant(who, Budget(usd=0.7))
    second = books.grant(who, Budget(usd=0.7))
    assert first.budget.usd == pytest.approx(0.7)
    assert second.budget.usd == pytest.approx(0.3)
    with pytest.raises(BudgetExceeded, match="token file"):
        books.grant(who, Budget())
    books.settle(first, 0.2, 10)
    assert books.grant(who, Budget()).budget.usd == pytest.approx(0.5)


def test_a_run_that_goes_on_spends_no_more_than_is_left(store: Store) -> None:
    books, who, ledger = Accounts(store), caller(KEY, usd=1.0), Ledger(store)
    first = books.grant(who, Budget())
    account = ledger.open("r1", first.budget)

    def usd(amount: float) -> Amount:
        return Amount(usd_nano=to_nano(amount))

    account.settle(account.reserve(usd(0.1), by="x"), usd(0.1))
    books.settle(first, 0.1, 0)
    books.settle(books.grant(who, Budget()), 0.85, 0)  # another run, meanwhile
    again = books.grant(who, Budget())
    assert again.budget.usd == pytest.approx(0.05)
    books.narrow(again, "r1")
    with pytest.raises(BudgetExceeded):
        account.reserve(usd(0.06), by="x")
    account.reserve(usd(0.05), by="x")
    # what a caller may spend is no reason to widen what the run was given
    books.narrow(books.grant(caller(OTHER, "rich", usd=50.0), Budget()), "r1")
    with pytest.raises(BudgetExceeded):
        account.reserve(usd(0.01), by="x")


def test_an_approved_run_has_what_its_caller_has_left_by_then(over_http: Any, store: Store) -> None:
    most = 1500
    poor = caller(KEY, "poor", tokens=most)

    async def person(_: Any, __: Any) -> types.ElicitResult:
        books = Accounts(store)  # another server over the same store: another run of the caller, meanwhile
        books.settle(books.grant(poor, Budget()), 0.0, most - books.spent(poor)[1] - 10)
        return types.ElicitResult(action="accept", content={"answer": "approve"})

    async def go() -> None:
        with over_http(poor) as over:
            async with over.client(KEY, elicitation_callback=person) as client:
                said = (await client.call_tool("team", {"task": teams.ORDER})).structured_content
        mine = (accounts.c.run_id == said["run_id"], accounts.c.parent_id.is_(None))
        row = store.row(select(accounts).where(*mine))
        assert row is not None
        assert said["cost"]["tokens"] < row["limit_tokens"] <= said["cost"]["tokens"] + 10

    asyncio.run(go())


def test_too_many_calls_are_told_when_to_come_back(store: Store) -> None:
    now = [100.0]
    books, who = Accounts(store, clock=lambda: now[0]), caller(KEY, calls_per_minute=2)
    books.admit(who)
    books.admit(who)
    with pytest.raises(RateLimited) as caught:
        books.admit(who)
    assert caught.value.retry_after == pytest.approx(30)
    now[0] += 30
    books.admit(who)


def test_a_rate_limit_is_a_structured_error(over_http: Any) -> None:
    with over_http(caller(KEY, calls_per_minute=1)) as over:

        async def go() -> None:
            async with over.client(KEY) as client:
                assert not (await client.call_tool("team", {"task": teams.SUM})).is_error
                refused = await client.call_tool("team", {"task": teams.SUM})
                assert refused.structured_content["error"]["kind"] == "rate_limited"
                assert refused.structured_content["error"]["retry_after"] > 0

        asyncio.run(go())


def test_other_hosts_and_origins_are_refused(over_http: Any) -> None:
    with over_http() as over:
        assert post(over.url, INIT).status_code == 200
        assert post(over.url, INIT, Host="evil.example").status_code == 421
        assert post(over.url, INIT, Origin="http://evil.example").status_code == 403
        assert post(over.url, INIT, Host="tools.example").status_code == 421
    with over_http(allowed_hosts=["tools.example"]) as over:
        assert post(over.url, INIT, Host="tools.example").status_code == 200
        assert post(over.url, INIT, Host="tools.example:80").status_code == 200
        assert post(over.url, INIT, Host="tools.example.evil.example").status_code == 421


MALFORMED: list[bytes] = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"tools/call"',
    b"[1, null, []]",
    b"\xff\xfe{}",
    b"\xef\xbb\xbf{}",
    b"[" * 5000 + b"]" * 5000,
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"team","arguments":{"task":"\\ud800"}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n":' + b"1" * 5000 + b"}}",
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":["tools/call"]}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"team","arguments":{"task":"x"}}}]',
]


@pytest.mark.parametrize("scopes", [("read",), ("read", "run")])
def test_malformed_requests_are_refused_and_the_server_goes_on(over_http: Any, scopes: Any) -> None:
    with over_http(caller(KEY, scopes=scopes)) as over, httpx2.Client(timeout=30) as client:
        headers = {**HEADERS, "Authorization": f"Bearer {KEY}"}
        for body in MALFORMED:
            assert 400 <= client.post(over.url, content=body, headers=headers).status_code < 500, body[:60]
        assert client.post(over.url, content=b" " * 5_000_000, headers=headers).status_code in (400, 413)
        for name, value in (
            ("Content-Type", "text/plain"),
            ("Accept", "text/html"),
            ("Mcp-Session-Id", "not-mine"),
            ("Authorization", "Bearer"),
            ("Authorization", "Bearer " + "x" * 20_000),
            ("Authorization", f"Bearer {KEY} {KEY}"),
            ("Authorization", f"Basic Bearer {KEY}"),
        ):
            said = client.post(over.url, json=PING, headers={**headers, name: value})
            assert 400 <= said.status_code < 500, (name, value[:40], said.status_code)
        for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
            assert client.request(method, over.url, headers=headers).status_code >= 400
        assert client.post(over.url, json=INIT, headers=headers).status_code == 200


def test_the_network_needs_a_token(served: AgentServer) -> None:
    for host in ("0.0.0.0", "192.168.1.5", "::"):
        with pytest.raises(UsageError, match="--token-file"):
            http_app(served.mcp, host=host)
    http_app(served.mcp, host="0.0.0.0", callers=[caller(KEY)])


def test_every_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    true = hmac.compare_digest

    def watched(a: Any, b: Any) -> bool:
        compared.append((a, b))
        return true(a, b)

    monkeypatch.setattr(principals.hmac, "compare_digest", watched)
    callers = [caller(KEY, "one"), caller(OTHER, "two"), caller(READER, "three")]
    found = find_caller(callers, KEY)
    assert found is callers[0]
    assert len(compared) == 3  # it does not stop at the right one
    assert find_caller(callers, "\ud800") is None
    # digests of one length are compared, never the secrets
    assert {len(a) for a, _ in compared} == {len(b) for _, b in compared} == {32}


def test_token_files(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text(f"# two\n{KEY}\n\n{OTHER}\n")
    assert [c.name for c in read_tokens(plain)] == ["token-1", "token-2"]
    table = tmp_path / "tokens.toml"
    digest = hashlib.sha256(OTHER.encode()).hexdigest()
    table.write_text(
        f'[[token]]\nname = "desk"\ntoken = "{KEY}"\nusd = 0.5\ncalls_per_minute = 3\n'
        f'[[token]]\nname = "reader"\nsha256 = "{digest}"\nscopes = ["read"]\n'
    )
    desk, reader = read_tokens(table)
    assert (desk.usd, desk.calls_per_minute, desk.scopes) == (0.5, 3, ("read", "run"))
    assert find_caller([desk, reader], OTHER) is reader


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no token"),
        ("short\n", "at least 16"),
        (f"{KEY}\n{KEY}\n", "same token twice"),
        ('[[token]]\nname = "a"\n', "either token or sha256"),
        (f'[[token]]\nname = "a"\ntoken = "{KEY}"\ncolour = 3\n', "colour"),
        ("[[token]\n", "token file"),
    ],
)
def test_wrong_token_files_say_what_is_wrong_and_not_the_token(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says) as caught:
        read_tokens(path)
    assert KEY not in str(caught.value)
    with pytest.raises(ConfigError, match="can not read"):
        read_tokens(tmp_path / "missing")
    with pytest.raises(ConfigError, match="16"):
        one_token("with space and more")
