"""``certivote verify``: 0 if a certificate holds up, 1 if it does not, 2 if it is none."""

import copy
import json

import joblib
import numpy as np
import pytest

from certivote.bounds import get_bound


@pytest.fixture
def tampered(certified, tmp_path, round_up):
    """Write a changed certificate, with a claim that fits its numbers, and return its path."""

    def write(change):
        fields = copy.deepcopy(certified.certificate)
        change(fields)
        percent = f"{100 * (1 - fields['bound_parameters']['delta']):g}%"
        fields["claim"] = (
            f"With {percent} confidence, the weighted majority vote of these {fields['n_voters']} "
            "voters errs on a new example with probability at most "
            f"{round_up(fields['risk_bound'])}."
        )
        path = tmp_path / "certificate.json"
        path.write_text(json.dumps(fields), encoding="utf-8")
        return path

    return write


# --- those that hold up --------------------------------------------------------------------------


def test_a_good_certificate_holds_up(run, certified, tmp_path):
    done = run("verify", certified.certificate_path, cwd=tmp_path)
    assert "The certificate holds up" in done.stdout
    assert certified.stdout.splitlines()[0] in done.stdout
    assert "--model" in done.stdout  # what has not been checked
    assert done.stderr == ""


def test_a_good_certificate_holds_up_with_model_and_data(invoke, certified, tmp_path):
    everything = ("--model", certified.model_path, "--data", certified.data)
    done = invoke("verify", certified.certificate_path, *everything, cwd=tmp_path)
    assert done.stdout.count("checked: ") == 2
    assert done.stderr.startswith("note: ")
    assert "runs code" in done.stderr


def test_rewriting_the_claim_changes_nothing_else(tampered, certified, invoke, tmp_path):
    path = tampered(lambda fields: None)
    assert json.loads(path.read_text()) == certified.certificate
    invoke("verify", path, cwd=tmp_path)


def test_a_claim_may_be_more_modest_than_the_evidence(tampered, invoke, tmp_path):
    path = tampered(lambda fields: fields.update(risk_bound=fields["risk_bound"] + 0.1))
    invoke("verify", path, cwd=tmp_path)


def test_quiet_and_json(invoke, certified, tampered, tmp_path):
    done = invoke("verify", certified.certificate_path, "--quiet", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("", "")
    done = invoke("verify", certified.certificate_path, "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert result["holds"] is True
    assert result["statement"] == certified.stdout.splitlines()[0]
    path = tampered(lambda fields: fields.update(risk_bound=0.01))
    done = invoke("verify", path, "--json", cwd=tmp_path, status=1)
    result = json.loads(done.stdout)
    assert result["holds"] is False
    assert "0.01" in result["reason"]
    assert done.stderr == ""


# --- those that do not ---------------------------------------------------------------------------


def scale(fields, name, factor):
    fields["evidence"][name] *= factor


def even_out(fields):
    fields["weights"] = [1 / fields["n_voters"]] * fields["n_voters"]


def make_larger(fields):
    fields["n_samples"] *= 10


def make_all_larger(fields):
    fields["n_samples"] *= 10
    for name in ("gibbs_size", "joint_size"):
        fields["evidence"][name] *= 10


FLATTERY = {
    "risk_bound": lambda fields: fields.update(risk_bound=fields["risk_bound"] - 1e-4),
    "risk_bound a little": lambda fields: fields.update(risk_bound=fields["risk_bound"] - 1e-9),
    "weights": even_out,
    "kl": lambda fields: fields.update(kl=fields["kl"] / 2),
    "kl nothing": lambda fields: fields.update(kl=0.0),
    "prior": lambda fields: fields.update(prior=fields["weights"]),
    "n_samples": make_larger,
    "some sizes": make_all_larger,
    "gibbs_risk": lambda fields: scale(fields, "gibbs_risk", 0.9),
    "joint_error": lambda fields: scale(fields, "joint_error", 0.9),
    "disagreement": lambda fields: scale(fields, "disagreement", 1.1),
    "gibbs_size": lambda fields: scale(fields, "gibbs_size", 2),
    "joint_size": lambda fields: scale(fields, "joint_size", 2),
    "disagreement_size": lambda fields: scale(fields, "disagreement_size", 2),
    "delta": lambda fields: fields["bound_parameters"].update(delta=0.01),
    "assumptions": lambda fields: fields.update(assumptions=fields["assumptions"][1:]),
    "bound": lambda fields: fields.update(bound="mcallester"),
    "a field of one's own": lambda fields: fields.update(audited="yes"),
}


@pytest.mark.parametrize("what", FLATTERY)
def test_flattery_does_not_hold_up(what, tampered, invoke, tmp_path):
    done = invoke("verify", tampered(FLATTERY[what]), cwd=tmp_path, status=1)
    assert "holds up" not in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: the certificate does not hold up: ")


def test_a_claim_that_says_less_than_the_numbers(certified, invoke, tmp_path):
    fields = copy.deepcopy(certified.certificate)
    fields["claim"] = fields["claim"].replace("at most 0.", "at most 0.0")
    assert fields["claim"] != certified.certificate["claim"]
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(fields))
    done = invoke("verify", path, cwd=tmp_path, status=1)
    assert "claim must say what the numbers say" in done.stderr


def test_a_forgery_whose_arithmetic_is_right_needs_the_data(tampered, certified, invoke, tmp_path):
    def forge(fields):
        fields["n_samples"] *= 10
        evidence = fields["evidence"]
        for name in ("gibbs_size", "joint_size", "disagreement_size"):
            evidence[name] *= 10
        bound = get_bound("lacasse", **fields["bound_parameters"])
        fields["risk_bound"] = bound.from_evidence(evidence, fields["weights"], fields["prior"])

    path = tampered(forge)
    assert json.loads(path.read_text())["risk_bound"] < certified.certificate["risk_bound"]
    invoke("verify", path, cwd=tmp_path)
    everything = ("--model", certified.model_path, "--data", certified.data)
    invoke("verify", path, *everything, cwd=tmp_path, status=1)


def test_other_labels(certified, loans, run, tmp_path):
    other = loans.copy()
    other["repaid"] = np.where(loans["repaid"] == "yes", "no", "yes")
    other.to_csv(tmp_path / "loans.csv", index=False)
    everything = ("--model", certified.model_path, "--data", "loans.csv")
    arguments = ("verify", certified.certificate_path, *everything)
    done = run(*arguments, cwd=tmp_path, status=1)
    assert "error: the certificate does not hold up: the counts are not those" in done.stderr


def test_one_other_label_in_part_b(certified, loans, split, invoke, tmp_path):
    other = loans.copy()
    row = split(len(loans))[1][0]
    other.loc[row, "repaid"] = "no" if other.loc[row, "repaid"] == "yes" else "yes"
    other.to_csv(tmp_path / "loans.csv", index=False)
    everything = ("--model", certified.model_path, "--data", "loans.csv")
    invoke("verify", certified.certificate_path, *everything, cwd=tmp_path, status=1)


def test_rows_in_another_order(certified, loans, invoke, tmp_path):
    loans.iloc[::-1].to_csv(tmp_path / "loans.csv", index=False)
    everything = ("--model", certified.model_path, "--data", "loans.csv")
    invoke("verify", certified.certificate_path, *everything, cwd=tmp_path, status=1)


def test_another_model(certified, invoke, tmp_path):
    other = copy.deepcopy(certified.vote)
    # The same weights, but the voters in another order: another vote.
    (group,) = other.voters_.groups
    group.group.members = group.group.members[::-1]
    joblib.dump(other, tmp_path / "reversed.joblib")
    arguments = ("--seed", 3, "--n-voters", 10, "--drop", "id", "--out", "other", "--quiet")
    invoke("certify", certified.data, *arguments, cwd=tmp_path)
    for model in ("other/model.joblib", "reversed.joblib"):
        everything = ("--model", model, "--data", certified.data)
        done = invoke("verify", certified.certificate_path, *everything, cwd=tmp_path, status=1)
        assert "does not hold up" in done.stderr


def test_numbers_that_are_names_are_read_as_such_again(certified, invoke, tmp_path):
    arguments = ("--drop", "id", "--categorical", "branch", "--target", "repaid")
    invoke("certify", certified.data, *arguments, "--n-voters", 4, "--quiet", cwd=tmp_path)
    everything = ("--model", "loans-certificate/model.joblib", "--data", certified.data)
    invoke("verify", "loans-certificate/certificate.json", *everything, cwd=tmp_path)


# --- those that cannot be checked ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not JSON", "not a JSON file"),
        (b"\xff\xfe\x00", "not a JSON file"),
        (b"", "not a JSON file"),
        (b'{"risk_bound": 0.1}', "format must be"),
        (b"[1, 2]", "must be a JSON object"),
        (b"null", "must be a JSON object"),
    ],
)
def test_what_is_no_certificate_cannot_be_checked(content, words, invoke, tmp_path):
    (tmp_path / "certificate.json").write_bytes(content)
    done = invoke("verify", "certificate.json", cwd=tmp_path, status=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line


def test_another_format_cannot_be_checked(tampered, invoke, tmp_path):
    path = tampered(lambda fields: fields.update(format_version=2))
    done = invoke("verify", path, cwd=tmp_path, status=2)
    assert "another version of certivote" in done.stderr


def test_a_missing_file_cannot_be_checked(invoke, tmp_path):
    done = invoke("verify", "certificate.json", cwd=tmp_path, status=2)
    assert done.stderr == "error: certificate.json: No such file or directory.\n"


def test_model_and_data_go_together(certified, invoke, tmp_path):
    for option in (("--model", certified.model_path), ("--data", certified.data)):
        done = invoke("verify", certified.certificate_path, *option, cwd=tmp_path, status=2)
        assert "must be given together" in done.stderr


def test_a_model_that_is_no_vote_cannot_be_checked(certified, invoke, tmp_path):
    joblib.dump(list(certified.vote.voters_), tmp_path / "trees.joblib")
    everything = ("--model", "trees.joblib", "--data", certified.data)
    done = invoke("verify", certified.certificate_path, *everything, cwd=tmp_path, status=2)
    assert "error: trees.joblib is not a vote" in done.stderr
