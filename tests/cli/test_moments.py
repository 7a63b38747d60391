"""``certivote bound`` and ``certivote plan``: certificates from a few numbers."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from certivote import certify, samples_to_test
from certivote.bounds import get_bound, list_moment_bounds
from certivote.statistics import OutOfBagStatistics
from reference import MOMENT_BOUNDS, REFERENCES

VOTE = ("--gibbs", 0.1, "--joint-error", 0.04, "--kl", 2)


def table(text):
    """The rows of a printed table, by their first cell."""
    return {cells[0]: cells[1:] for cells in (line.split("\t") for line in text.splitlines())}


def bounds(invoke, folder, *arguments):
    return json.loads(invoke("bound", *arguments, "--json", cwd=folder).stdout)


# --- bound ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", ["exact", "maurer"])
@pytest.mark.parametrize("m", [50, 1000, 123_456])
def test_bounds_are_those_of_the_theory(constant, m, invoke, exact, round_up, tmp_path):
    arguments = (*VOTE, "-m", m, "--delta", 0.01, "--constant", constant)
    values = bounds(invoke, tmp_path, *arguments)
    assert list(values) == list_moment_bounds()
    printed = table(invoke("bound", *arguments, cwd=tmp_path).stdout)
    assert list(printed) == ["bound", *list_moment_bounds()]
    for name in MOMENT_BOUNDS:
        value = values[name]
        theory = min(1.0, float(exact.from_moments(name, 0.1, 0.04, 2, m, 0.01, constant)))
        assert theory <= value <= theory + 1e-9
        bound = get_bound(name, delta=0.01, constant=constant)
        assert value == min(1.0, bound.from_moments(0.1, 0.04, 2.0, m))
        assert printed[name] == [round_up(value) + (" (says nothing)" if value >= 1 else "")]


def test_disagreement_stands_for_the_joint_error(run, invoke, tmp_path):
    common = ("bound", "--gibbs", 0.2, "-m", 1000, "--kl", 2)
    done = run(*common, "--disagreement", 0.3, cwd=tmp_path)
    other = invoke(*common, "--joint-error", 0.05, cwd=tmp_path)  # e = r − d/2
    assert done.stdout == other.stdout
    assert done.stderr == ""


def test_no_divergence_if_none_is_given(invoke, tmp_path):
    arguments = ("--gibbs", 0.2, "--joint-error", 0.05, "--samples", 300)
    assert bounds(invoke, tmp_path, *arguments) == bounds(invoke, tmp_path, *arguments, "--kl", 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--gibbs", 0.2), "give either --disagreement or --joint-error"),
        (("--gibbs", 0.2, "--disagreement", 0.1, "--joint-error", 0.1), "give either"),
        (("--gibbs", 0.2, "--disagreement", 0.5), "between 0 and 2r(1−r), here 0.32"),
        (("--gibbs", 0.2, "--disagreement", -0.1), "between 0 and 2r(1−r)"),
        (("--gibbs", 0.2, "--joint-error", 0.3), "joint_error must be in [0, 0.2]"),
        (("--gibbs", 1.2, "--joint-error", 0.3), "gibbs_risk must be in [0"),
        (("--gibbs", "nan", "--joint-error", 0.3), "gibbs_risk must be in [0"),
        ((*VOTE, "--kl", -1), "kl must be"),
        ((*VOTE, "--kl", "inf"), "kl must be"),
        ((*VOTE, "--delta", 0), "delta must be a number strictly between 0 and 1"),
        ((*VOTE, "--delta", 0.9), "got 0.9: did you mean 0.1?"),
        ((*VOTE, "--constant", "pi"), "constant must be one of"),
    ],
)
def test_numbers_that_no_vote_has(arguments, words, invoke, tmp_path):
    done = invoke("bound", "-m", 100, *arguments, cwd=tmp_path, status=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert done.stdout == ""


def test_a_sample_of_nothing(invoke, tmp_path):
    done = invoke("bound", *VOTE, "-m", 0, cwd=tmp_path, status=2)
    assert done.stderr.startswith("error: ")
    assert "-m must be at least 1 example, got 0" in done.stderr


# --- plan ----------------------------------------------------------------------------------------


def test_the_plan_is_the_smallest_number_that_does(invoke, tmp_path):
    arguments = ("--delta", 0.02, "--constant", "maurer")
    done = invoke("plan", "--target", 0.3, *VOTE, *arguments, cwd=tmp_path)
    rows = table("\n".join(line for line in done.stdout.splitlines() if "\t" in line))
    assert list(rows) == ["bound", *list_moment_bounds()]
    assert rows["bound"] == ["examples for a claim of 0.3"]
    for name in list_moment_bounds():
        m = int(rows[name][0].replace(",", ""))
        assert bounds(invoke, tmp_path, *VOTE, *arguments, "-m", m)[name] <= 0.3
        assert bounds(invoke, tmp_path, *VOTE, *arguments, "-m", m - 1)[name] > 0.3
    assert "a plan, not a promise" in done.stdout


def test_one_bound_json_and_quiet(invoke, tmp_path):
    arguments = ("plan", "--target", 0.3, *VOTE)
    everything = json.loads(invoke(*arguments, "--json", cwd=tmp_path).stdout)
    one = json.loads(invoke(*arguments, "--bound", "tandem", "--json", cwd=tmp_path).stdout)
    needed = everything["samples_needed"]
    assert one["samples_needed"] == {"tandem": needed["tandem"]}
    assert (one["gibbs_risk"], one["joint_error"], one["kl"]) == (0.1, 0.04, 2.0)
    quiet = invoke(*arguments, "--quiet", cwd=tmp_path).stdout
    assert len(quiet.splitlines()) == 1 + len(list_moment_bounds())
    assert table(quiet)["gibbs"] == [f"{needed['gibbs']:,}"]


def test_no_number_of_examples_beats_the_oracle(invoke, tmp_path):
    # At r = 0.1 and e = 0.04: 2r = 0.2, 4e = 0.16, and C = 1 − 0.64/0.76 ≈ 0.158.
    for target in (0.19, 0.1575):
        plan = ("plan", "--target", target, *VOTE)
        rows = table(invoke(*plan, "--quiet", cwd=tmp_path).stdout)
        needed = json.loads(invoke(*plan, "--json", cwd=tmp_path).stdout)["samples_needed"]
        for name in MOMENT_BOUNDS:
            never = REFERENCES[name].oracle(0.1, 0.04) >= target
            assert (rows[name] == ["more than 10¹²"]) == never
            assert (needed[name] is None) == never


def test_a_pilot_gives_its_moments(invoke, certified, tmp_path):
    fields = certified.certificate
    target = 0.9 * fields["risk_bound"]
    arguments = ("plan", "--target", target, "--json")
    piloted = invoke(*arguments, "--pilot", certified.certificate_path, cwd=tmp_path)
    result = json.loads(piloted.stdout)
    evidence = fields["evidence"]
    assert result["gibbs_risk"] == evidence["gibbs_risk"]
    assert result["kl"] == fields["kl"]
    by_hand = invoke(
        *(*arguments, "--gibbs", evidence["gibbs_risk"], "--joint-error", evidence["joint_error"]),
        *("--kl", fields["kl"]),
        cwd=tmp_path,
    )
    assert json.loads(by_hand.stdout) == result
    # A smaller claim takes more examples than the pilot had, and its own claim as many.
    assert result["samples_needed"]["lacasse"] > fields["n_samples"]
    own = invoke(
        *("plan", "--target", fields["risk_bound"], "--bound", "lacasse", "--json"),
        *("--pilot", certified.certificate_path),
        cwd=tmp_path,
    )
    assert json.loads(own.stdout)["samples_needed"]["lacasse"] == fields["n_samples"]


def test_a_plan_of_a_test_refuses_a_confidence_for_delta(invoke, tmp_path):
    arguments = ("--target", 0.3, "--risk", 0.1, "--delta", 0.95)
    done = invoke("plan", *arguments, cwd=tmp_path, status=2)
    assert done.stderr.endswith("got 0.95: did you mean 0.05?\n")


def test_a_pilot_that_does_not_hold_up_is_refused(invoke, certified, tmp_path):
    text = json.dumps({**certified.certificate, "kl": 0.0})
    (tmp_path / "pilot.json").write_text(text)
    done = invoke("plan", "--target", 0.3, "--pilot", "pilot.json", cwd=tmp_path, status=2)
    assert "error: kl is claimed to be 0.0" in done.stderr


def test_a_pilot_whose_moments_are_of_other_numbers_than_its_examples_is_refused(invoke, tmp_path):
    """A plan would be of examples outside the bags of two voters at once, and not of rows."""
    rng = np.random.default_rng(0)
    losses, in_bag = rng.random((300, 4)) < 0.1, rng.random((300, 4)) < 0.5
    outside = min((~in_bag[:, j] & ~in_bag[:, k]).sum() for j in range(4) for k in range(4))
    statistics = OutOfBagStatistics.from_losses(losses, in_bag)
    for bound in ("tandem", "gibbs", "best"):
        certify(statistics, bound=bound).to_json(tmp_path / "pilot.json")
        done = invoke("plan", "--target", 0.3, "--pilot", "pilot.json", cwd=tmp_path, status=2)
        (line,) = done.stderr.splitlines()
        assert f"of 300 examples, and its moments count as those of {outside}:" in line
        assert "--certification split" in line
        assert not done.stdout
    # Unlabelled examples are beside, and take nothing away from what the labelled ones say.
    y = rng.integers(2, size=300)
    votes = np.where(losses, 1 - y[:, None], y[:, None])
    more = rng.integers(2, size=(200, 4))
    certify(votes, y, bound="seeger", unlabelled=more).to_json(tmp_path / "more.json")
    invoke("plan", "--target", 0.5, "--pilot", "more.json", cwd=tmp_path)


def test_a_pilot_whose_vote_was_tested(invoke, certified, tmp_path):
    small = ("--drop", "id", "--n-voters", 5, "--out", "pilot", "--json")
    fields = json.loads(invoke("certify", certified.data, *small, cwd=tmp_path).stdout)
    evidence = fields["certificate"]["evidence"]
    risk = evidence["vote_errors"] / evidence["vote_size"]
    plan = ("plan", "--target", risk + 0.02, "--json")
    result = json.loads(invoke(*plan, "--pilot", "pilot/certificate.json", cwd=tmp_path).stdout)
    # What is weighed on part A is tested with all of delta, and so is a classifier as it is.
    assert result["samples_needed"] == {
        "certify": samples_to_test(risk + 0.02, risk, 0.05),
        "certify --voters trees": samples_to_test(risk + 0.02, risk, 0.9 * 0.05),
        "certify --model": samples_to_test(risk + 0.02, risk, 0.05),
    }
    sure = json.loads(invoke(*plan, "--risk", risk, "--power", 0.95, cwd=tmp_path).stdout)
    assert sure["samples_needed"]["certify"] == samples_to_test(risk + 0.02, risk, 0.05, 0.95)
    assert json.loads(invoke(*plan, "--risk", risk, cwd=tmp_path).stdout) == result
    shown = invoke("plan", "--target", 0.05, "--risk", 0.0, cwd=tmp_path).stdout
    assert table(shown)["certify --model"] == ["59"]
    assert "succeeds with probability 0.8 or more" in shown
    # Each of the commands does test with the delta that the plan counts with.
    for voters in ("mixed", "trees"):
        learn = ("--voters", voters, "--drop", "id", "--out", voters, "--json", "-q")
        fields = json.loads(invoke("certify", certified.data, *learn, cwd=tmp_path).stdout)
        own = fields["certificate"]
        errors, m = own["evidence"]["vote_errors"], own["evidence"]["vote_size"]
        command = {"mixed": "certify", "trees": "certify --voters trees"}[voters]
        limit = beta.ppf(1.0 - result["deltas"][command], errors + 1, m - errors)
        assert own["evidence"]["winner"] == "heldout"
        assert own["risk_bound"] == pytest.approx(limit, abs=1e-9)
    done = invoke(*plan, "--risk", risk, "--bound", "gibbs", cwd=tmp_path, status=2)
    assert "--bound must be heldout" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give either --pilot, or --gibbs"),
        ((*VOTE, "--risk", 0.1), "give either --pilot, or --gibbs"),
        (("--risk", 0.1, "--kl", 2), "go with --gibbs"),
        (("--gibbs", 0.1), "give either --disagreement or --joint-error"),
        ((*VOTE, "--pilot", "missing.json"), "give either --pilot, or --gibbs"),
        (("--pilot", "missing.json"), "missing.json: No such file"),
        ((*VOTE, "--power", 0.9), "--power and --plot are for a test of errors"),
        (("--risk", 0.1, "--power", 1.5), "power must be"),
        ((*VOTE, "--bound", "gibs"), "bound must be one of"),
        ((*VOTE, "--target", -0.1), "target must be"),
        ((*VOTE, "--target", "nan"), "target must be"),
    ],
)
def test_plans_that_say_nothing(arguments, words, invoke, tmp_path):
    done = invoke("plan", "--target", 0.3, *arguments, cwd=tmp_path, status=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line


def test_where_no_number_is_enough_the_plan_says_so_without_a_picture(invoke, tmp_path):
    plan = ("plan", "--target", 0.3, "--risk", 0.5)
    plain = invoke(*plan, cwd=tmp_path)
    done = invoke(*plan, "--plot", "plan.png", cwd=tmp_path)
    assert "no number is enough" in done.stdout
    assert done.stdout == plain.stdout
    assert "plan.png is not written: no number of examples is enough" in done.stderr
    assert not (tmp_path / "plan.png").exists()


@pytest.mark.parametrize("bound", ["best", "lacasse"])
def test_a_pilot_by_groups_plans_groups(bound, invoke, tmp_path):
    rng = np.random.default_rng(0)
    men = np.repeat(np.arange(80), 3)
    frame = pd.DataFrame(
        {"a": rng.normal(size=240), "man": men, "y": rng.integers(2, size=80)[men]}
    )
    frame["a"] += 2 * frame["y"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    learn = ("--group", "man", "--n-voters", 5, "--bound", bound, "--out", "o", "-q")
    invoke("certify", "t.csv", *learn, cwd=tmp_path)
    plan = ("plan", "--target", 0.45 if bound == "best" else 0.9)
    done = invoke(*plan, "--pilot", "o/certificate.json", cwd=tmp_path)
    assert done.stdout.splitlines()[0].endswith(f"groups ('man') for a claim of {plan[-1]}")
    assert "examples" not in done.stdout
    assert "rows" not in done.stdout
    # The folder stands for the certificate in it.
    assert invoke(*plan, "--pilot", "o", cwd=tmp_path).stdout == done.stdout
    assert (
        json.loads(invoke(*plan, "--pilot", "o", "--json", cwd=tmp_path).stdout)["grouped_by"]
        == "man"
    )
    if bound == "best":
        assert "With so many certification groups ('man')" in done.stdout
        assert "trains on the other groups ('man'): in all it takes twice" in done.stdout
        invoke(*plan, "--pilot", "o", "--plot", "plan.svg", cwd=tmp_path)
        text = (tmp_path / "plan.svg").read_text(encoding="utf-8")
        assert "certification groups" in text


def test_a_plan_is_drawn(invoke, tmp_path):
    invoke("plan", "--target", 0.05, "--risk", 0.03, "--plot", "plan.png", cwd=tmp_path)
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
