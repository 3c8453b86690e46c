"""Learnings over HTTP: read, replaced, taken back one by one or many, and traced."""

from starlette.testclient import TestClient

from tests.api.test_learning_candidates import KEY, learn, pointers, propose
from tests.api.test_resources import ok, refused
from tests.support.factories import make_session
from understudy.core.principal import DAEMON
from understudy.daemon.wiring import Daemon
from understudy.learnings.decisions import by_policy
from understudy.learnings.model import AutomationReview, LearningUse, Mode, ReviewAction, Tier
from understudy.learnings.publication import PublishChanges
from understudy.learnings.publication import publish as publish_in

PATH = "/v1/learnings"
# In the year 2100.
LATER = 4_102_444_800_000


def published_by(daemon: Daemon, candidate_id: str, rule: str) -> str:
    """The learning that automation made of a candidate under a rule."""
    review = AutomationReview(
        mode=Mode.ENABLED,
        action=ReviewAction.PUBLISH_PROVISIONAL,
        reviewed_at_ms=1,
        reason=f"rule {rule} says so",
        policy_revision=1,
        matched_rule_name=rule,
    )
    with daemon.resources.units.write() as unit:
        made = publish_in(
            unit,
            candidate_id,
            PublishChanges(publish_tier=Tier.PROVISIONAL),
            by=by_policy(review),
            now_ms=daemon.resources.clock.now_ms(),
        )
    return made.learning.learning_id


def ids(api: TestClient, query: str = "") -> list[str]:
    return [item["learning_id"] for item in ok(api, "GET", f"{PATH}?{query}")["items"]]


def test_learnings_are_listed_by_what_they_are(daemon: Daemon, api: TestClient) -> None:
    sky = learn(api, "The sky is blue.")["learning_id"]
    tea = learn(api, "tea", kind="preference", scope={"kind": "project", "id": "p1"})["learning_id"]
    auto = published_by(daemon, propose(api, "Water is wet."), "Rule One")

    assert ids(api) == [sky, tea, auto]
    for query, expected in {
        "query=SKY": [sky],
        "query=project:p1": [tea],
        "scope_kind=workspace": [sky, auto],
        "scope_kind=project&scope_id=p1": [tea],
        "kind=preference": [tea],
        "applies=always": [],
        "applies=when_relevant&kind=preference": [tea],
        "status=provisional": [auto],
        "policy_decision=automatic": [auto],
        "policy_decision=manual": [sky, tea],
        "policy_actor=DAEMON": [auto],
        "policy_actor=operator": [sky, tea],
        "matched_rule_name=rule%20one": [auto],
        "matched_rule_name=rule": [],
        "kind=fact&status=active": [sky],
    }.items():
        assert ids(api, query) == expected, query
    page = ok(api, "GET", f"{PATH}?limit=1")
    assert ids(api, f"limit=2&cursor={page['next_cursor']}") == [tea, auto]
    shown = ok(api, "GET", f"{PATH}/{auto}")
    assert (shown["policy_decision"], shown["policy_actor"]) == ("automatic", DAEMON.user_id)


def test_learnings_are_narrowed_by_tier_and_verification_newest_first(api: TestClient) -> None:
    ids = [learn(api, f"The lamp number {n} is blue.")["learning_id"] for n in range(3)]

    def listed(query: str) -> list[str]:
        return [each["learning_id"] for each in ok(api, "GET", f"/v1/learnings?{query}")["items"]]

    assert listed("newest=true") == [*reversed(ids)]
    first = ok(api, "GET", "/v1/learnings?newest=true&limit=2")
    assert listed(f"newest=true&limit=2&cursor={first['next_cursor']}") == ids[:1]
    assert listed("publish_tier=active&verification_status=unverified") == ids
    assert listed("publish_tier=provisional") == []
    assert listed("verification_status=verified") == []


def test_a_filter_must_make_sense(api: TestClient) -> None:
    for query, status in {
        "scope_id=s1": 400,
        "scope_kind=session": 400,
        "scope_kind=workspace": 200,
        "status=known": 400,
        "policy_decision=coin": 400,
        "kind=rumour": 400,
        "applies=never": 400,
        "policy_actor=" + "x" * 501: 400,
    }.items():
        assert api.get(f"{PATH}?{query}").status_code == status, query


def test_a_learning_is_replaced_once(api: TestClient) -> None:
    first = learn(api, "Project codename is Atlas.", confidence=70, evidence_refs=[{"note": "n"}])
    path = f"{PATH}/{first['learning_id']}/supersede"

    second = ok(api, "POST", path, {"content": " Project codename is Cygnus. "})
    again = ok(api, "POST", path, {"content": "Project codename is Delta."})

    assert again == second
    assert second["content"] == "Project codename is Cygnus."
    assert second["supersedes"] == first["learning_id"]
    assert (second["status"], second["confidence"]) == ("active", 70)
    assert second["evidence_refs"] == [{"note": "n"}]
    assert second["verification_status"] == "unverified"
    assert (
        ok(api, "GET", f"{PATH}/{first['learning_id']}")["superseded_by"] == (second["learning_id"])
    )
    assert len(ids(api)) == 2


def test_a_wrong_replacement_is_refused_and_changes_nothing(api: TestClient) -> None:
    learning_id = learn(api, "Project codename is Atlas.")["learning_id"]
    path = f"{PATH}/{learning_id}/supersede"

    for wrong, place in [
        ({}, "/content"),
        ({"content": ""}, "/content"),
        ({"content": KEY}, "/content"),
        ({"content": "x" * 1601}, "/content"),
        ({"content": "x", "confidence": 101}, "/confidence"),
        ({"content": "x", "kind": "run_summary"}, "/kind"),
        ({"content": "x", "kind": "rumour"}, "/kind"),
        ({"content": "x", "publish_tier": "active"}, "/publish_tier"),
    ]:
        assert any(it.startswith(place) for it in pointers(api, path, wrong)), wrong
    other = {"content": "Project codename is Cygnus.", "scope": {"kind": "session", "id": "s1"}}
    assert refused(api, "POST", path, other) == (409, "learnings/supersede_scope_mismatch")
    assert refused(api, "POST", f"{PATH}/lrn_none/supersede", {"content": "x"}) == (
        404,
        "learnings/learning_not_found",
    )
    ok(api, "POST", f"{PATH}/{learning_id}/revoke")
    assert refused(api, "POST", path, {"content": "x"}) == (409, "learnings/learning_revoked")
    assert ids(api) == [learning_id]


def test_when_a_learning_applies_is_proposed_by_its_content_and_changed_by_a_person(
    daemon: Daemon, api: TestClient
) -> None:
    with daemon.resources.units.write() as unit:
        unit.sessions.add(make_session("s1"))
    scope = {"kind": "session", "id": "s1"}
    dutch = learn(api, "Always answer in Dutch.", kind="preference", scope=scope)
    sky = learn(api, "The sky is blue.", applies="always", scope=scope)
    path = f"{PATH}/{dutch['learning_id']}"

    assert (dutch["applies"], sky["applies"]) == ("always", "always")
    assert ids(api, "applies=always") == [dutch["learning_id"], sky["learning_id"]]

    changed = ok(api, "PUT", path, {"applies": "when_relevant"})
    again = ok(api, "PUT", path, {"applies": "when_relevant"})

    assert (changed["applies"], changed["version"]) == ("when_relevant", dutch["version"] + 1)
    assert again == changed
    assert ids(api, "applies=always") == [sky["learning_id"]]
    [audited] = ok(api, "GET", "/v1/audit?resource=learnings")["items"]
    assert (audited["action"], audited["reason"]) == ("learnings.change", "when_relevant")
    events = ok(api, "GET", "/v1/sessions/s1/events")["items"]
    told = [it["data"]["what"] for it in events if it["kind"] == "learning"]
    assert told.count("learning_changed") == 1


def test_expiry_and_sensitivity_are_changed_in_place(api: TestClient) -> None:
    sky = learn(api, "The sky is blue.")
    path = f"{PATH}/{sky['learning_id']}"

    ending = ok(api, "PUT", path, {"expires_at_ms": LATER, "sensitivity": "sensitive"})
    endless = ok(api, "PUT", path, {"expires_at_ms": None})

    assert (ending["expires_at_ms"], ending["sensitivity"]) == (LATER, "sensitive")
    assert (endless.get("expires_at_ms"), endless["sensitivity"]) == (None, "sensitive")
    assert endless["version"] == sky["version"] + 2
    reasons = [it["reason"] for it in ok(api, "GET", "/v1/audit?resource=learnings")["items"]]
    assert sorted(reasons) == ["expires_at_ms never", f"sensitive, expires_at_ms {LATER}"]
    assert refused(api, "PUT", path, {"expires_at_ms": 1}) == (400, "learnings/expiry_is_past")


def test_learnings_are_found_by_age_and_use(daemon: Daemon, api: TestClient) -> None:
    sky = learn(api, "The sky is blue.")
    at, id_ = sky["published_at_ms"], sky["learning_id"]
    assert ids(api, f"published_after_ms={at}") == [id_]
    assert ids(api, f"published_before_ms={at}") == []
    assert ids(api, f"published_before_ms={at + 1}") == [id_]
    assert (ids(api, "used=true"), ids(api, "used=false")) == ([], [id_])
    use = LearningUse(learning_id=id_, learning_version=1, run_id="r", session_id="s", at_ms=1)
    with daemon.resources.units.write() as unit:
        unit.learning_uses.add([use])
    assert (ids(api, "used=true"), ids(api, "used=false")) == ([id_], [])


def test_a_wrong_change_of_a_learning_is_refused(api: TestClient) -> None:
    dutch = learn(api, "Always answer in Dutch.")["learning_id"]
    path, wanted = f"{PATH}/{dutch}", {"applies": "always"}

    assert refused(api, "PUT", path, {"applies": "never"})[0] == 400
    assert refused(api, "PUT", path, {})[0] == 400
    assert refused(api, "PUT", path, {**wanted, "content": "x"})[0] == 400
    assert refused(api, "PUT", f"{PATH}/lrn_none", wanted) == (404, "learnings/learning_not_found")
    after = ok(api, "POST", f"{path}/supersede", {"content": "Always answer in Frisian."})
    assert after["applies"] == "always"
    assert refused(api, "PUT", path, wanted) == (409, "learnings/learning_superseded")
    ok(api, "POST", f"{PATH}/{after['learning_id']}/revoke")
    revoked = f"{PATH}/{after['learning_id']}"
    assert refused(api, "PUT", revoked, wanted) == (409, "learnings/learning_revoked")


def test_a_learning_is_taken_back_once(api: TestClient) -> None:
    learning_id = learn(api, "The sky is blue.")["learning_id"]
    path = f"{PATH}/{learning_id}/revoke"

    assert pointers(api, path, {"reason": KEY}) == ["/reason"]
    assert pointers(api, path, {"why": "x"}) == ["/why"]
    assert ok(api, "GET", f"{PATH}/{learning_id}")["status"] == "active"
    revoked = ok(api, "POST", path, {"reason": " it is grey "})
    assert (revoked["status"], revoked["revoked_reason"]) == ("revoked", "it is grey")
    assert revoked["revoked_at_ms"] > 0
    assert revoked["actions"] == []
    assert ok(api, "POST", path, {"reason": "another"}) == revoked
    assert ok(api, "POST", path) == revoked
    assert refused(api, "POST", f"{PATH}/lrn_none/revoke") == (404, "learnings/learning_not_found")
    blank = learn(api, "Water is wet.")["learning_id"]
    assert "revoked_reason" not in ok(api, "POST", f"{PATH}/{blank}/revoke", {"reason": "  "})


def test_many_are_taken_back_by_what_they_are_never_by_nothing(
    daemon: Daemon, api: TestClient
) -> None:
    by_hand = learn(api, "The sky is blue.")["learning_id"]
    first = published_by(daemon, propose(api, "Water is wet."), "r1")
    second = published_by(daemon, propose(api, "Fire is hot."), "r2")
    path = f"{PATH}/revoke-matching"

    unseen = [{"query": text} for text in (" ", "\u200b", "\ufeff", "\u3164")]
    for nothing in (None, {}, {"reason": "x"}, *unseen, {"all": False, "dry_run": True}):
        assert refused(api, "POST", path, nothing) == (400, "learnings/filter_required")
    which = {"policy_actor": "daemon", "matched_rule_name": "R1"}
    tried = ok(api, "POST", path, {**which, "dry_run": True})
    assert (tried["dry_run"], tried["count"]) == (True, 1)
    assert [(it["learning_id"], it["status"]) for it in tried["items"]] == [(first, "provisional")]
    done = ok(api, "POST", path, {**which, "reason": "r1 was wrong"})
    assert [(it["learning_id"], it["status"]) for it in done["items"]] == [(first, "revoked")]
    assert done["items"][0]["revoked_reason"] == "r1 was wrong"
    assert ids(api, "status=revoked") == [first]
    assert pointers(api, path, {"kind": "fact", "reason": KEY}) == ["/reason"]
    assert pointers(api, path, {"scope_id": "s1"}) == ["/scope_id"]
    assert pointers(api, path, {"kind": "rumour"}) == ["/kind"]
    rest = ok(api, "POST", path, {"all": True})
    assert [it["learning_id"] for it in rest["items"]] == [by_hand, second]
    assert ok(api, "POST", path, {"all": True})["items"] == []


def test_a_query_that_nearly_everything_has_in_it_is_no_filter(api: TestClient) -> None:
    learning_id = learn(api, "The sky is blue.")["learning_id"]
    path = f"{PATH}/revoke-matching"

    for short in ("_", ":", "lrn_", "a.b", "-- it"):
        answer = api.post(path, json={"query": short})
        assert (answer.status_code, answer.json()["code"]) == (400, "filter_required"), short
        assert [error["pointer"] for error in answer.json()["errors"]] == ["/query"]
    assert ok(api, "POST", path, {"query": "_", "kind": "fact", "dry_run": True})["count"] == 1
    assert ok(api, "POST", path, {"query": "天空", "dry_run": True})["count"] == 0
    assert ok(api, "POST", path, {"query": "_", "all": True, "dry_run": True})["count"] == 1
    assert ok(api, "POST", path, {"query": "sky"})["items"][0]["learning_id"] == learning_id


def test_the_chain_is_shown_both_ways(daemon: Daemon, api: TestClient) -> None:
    source = {"session_id": "s1", "run_id": "run_gone"}
    candidate_id = propose(api, "Project codename is Atlas.", source=source)
    first = published_by(daemon, candidate_id, "r1")
    second = ok(
        api, "POST", f"{PATH}/{first}/supersede", {"content": "Project codename is Cygnus."}
    )["learning_id"]
    with daemon.resources.units.write() as unit:
        unit.learning_uses.add(
            LearningUse(
                learning_id=first, learning_version=1, run_id=f"run_{n}", session_id="s1", at_ms=n
            )
            for n in range(3)
        )

    told = ok(api, "GET", f"{PATH}/{first}/lineage?limit=2")

    assert told["learning"] == ok(api, "GET", f"{PATH}/{first}")
    assert told["candidate"]["candidate_id"] == candidate_id
    assert told["candidate"]["automation_review"]["matched_rule_name"] == "r1"
    assert "source_run" not in told
    assert told["replaced"] == []
    assert [it["learning_id"] for it in told["replaced_by"]] == [second]
    assert told["use_count"] == 3
    assert told["uses"]["items"] == [
        {"run_id": f"run_{n}", "session_id": "s1", "learning_version": 1, "at_ms": n}
        for n in (2, 1)
    ]
    rest = ok(api, "GET", f"{PATH}/{first}/lineage?cursor={told['uses']['next_cursor']}")
    assert [it["run_id"] for it in rest["uses"]["items"]] == ["run_0"]
    assert rest["uses"]["next_cursor"] is None
    after = ok(api, "GET", f"{PATH}/{second}/lineage")
    assert [it["learning_id"] for it in after["replaced"]] == [first]
    assert after["candidate"]["candidate_id"] == candidate_id
    assert refused(api, "GET", f"{PATH}/lrn_none/lineage")[0] == 404


def test_what_happens_is_in_the_journal_without_its_words(daemon: Daemon, api: TestClient) -> None:
    with daemon.resources.units.write() as unit:
        unit.sessions.add(make_session("s1"))
    learning = learn(api, "The vault is green.", scope={"kind": "session", "id": "s1"})
    ok(api, "POST", f"{PATH}/{learning['learning_id']}/revoke", {"reason": "painted"})

    events = ok(api, "GET", "/v1/sessions/s1/events")["items"]
    told = [event for event in events if event["kind"] == "learning"]

    assert [event["data"]["what"] for event in told] == [
        "candidate_created",
        "learning_published",
        "candidate_decided",
        "learning_revoked",
    ]
    assert {event["data"].get("learning_id") for event in told[1:]} == {learning["learning_id"]}
    assert "vault" not in str(told)
    assert "painted" not in str(told)


def test_the_status_counts_what_was_proposed_decided_and_accepted(
    daemon: Daemon, api: TestClient
) -> None:
    learn(api, "The sky is blue.")
    published_by(daemon, propose(api, "Water is wet."), "r1")
    ok(api, "POST", f"/v1/learning-candidates/{propose(api, 'Fire is cold.')}/reject")
    propose(api, "Ice is warm.")

    told = ok(api, "GET", "/v1/status")["learning"]

    assert told["mode"] == "shadow"
    assert told["candidates"] == {"pending": 1, "escalated": 0, "published": 2, "rejected": 1}
    assert told["learnings"] == {"provisional": 1, "active": 1, "superseded": 0, "revoked": 0}
    assert told["review_queue"] == 4
    assert told["capture_queue"] == 0
    path = told["acceptance"]["capture_paths"]["api"]
    assert path["people"] == {"published": 1, "rejected": 1, "acceptance_rate": 0.5}
    assert path["daemon"] == {"published": 1, "rejected": 0, "acceptance_rate": 1.0}
    assert path["open"] == 1
    assert told["acceptance"]["rules"]["r1"]["daemon"]["published"] == 1
    assert told["metrics"]["candidates_total"]["api"] == 4
    assert told["metrics"]["publications_total"]["manual"] == 1
    metrics = api.get("/metrics").text
    assert 'understudy_learning_candidates_total{path="api"} 4.0' in metrics
    assert 'understudy_learning_publications_total{decision="manual"} 1.0' in metrics


def test_a_damaged_learning_is_missing_from_lists_and_told_by_itself(
    daemon: Daemon, api: TestClient
) -> None:
    broken = learn(api, "The sky is blue.")["learning_id"]
    whole = learn(api, "Water is wet.")["learning_id"]
    with daemon.resources.database.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE learnings SET body = '{}' WHERE learning_id = ?", (broken,)
        )

    assert ids(api) == [whole]
    assert refused(api, "GET", f"{PATH}/{broken}") == (503, "storage/record_damaged")
    assert refused(api, "POST", f"{PATH}/{broken}/revoke") == (503, "storage/record_damaged")
