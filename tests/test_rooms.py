"""The plan of the house: which room may know which, read off the imports themselves."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from certivote.bounds import list_bounds
from certivote.statistics.kinds import KINDS

SOURCE = Path(__file__).resolve().parents[1] / "src" / "certivote"

# A room imports only from those before it. Votes go this way, and nothing comes back.
ROOMS = (
    "_version",
    "_utils",
    "divergences",
    "labels",
    "voting",
    "statistics",
    "bounds",
    "solvers",
    "learners",
    "voters",
    "claims",
    "certificate",
    "classifiers",
    "tables",
    "planning",
    "parquet",
    "distributed",
    "plotting",
    "report",
    "datasets",
    "reproduce",
    "cli",
    "__main__",
)
# The public names of the package are imported from everywhere when they are asked for.
FRONT_DOOR = "certivote"
STATISTICS = {"Statistics", "UnlabelledStatistics", *(kind.__name__ for kind in KINDS.values())}

TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in TREES}


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else FRONT_DOOR


def imports(path: Path) -> Iterator[tuple[str, str | None, int]]:
    """Yield each module of the package that a file imports, in functions too, with the name."""
    module = module_of(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == FRONT_DOOR:
                    yield alias.name, None, node.lineno
        if not isinstance(node, ast.ImportFrom):
            continue
        base = (node.module or "").split(".") if node.level == 0 else None
        if base is None:
            up = package.split(".")
            base = up[: len(up) - node.level + 1] + (node.module.split(".") if node.module else [])
        if base[0] != FRONT_DOOR:
            continue
        for alias in node.names:
            inner = ".".join([*base, alias.name])
            yield (
                (inner, None, node.lineno)
                if inner in MODULES
                else (
                    ".".join(base),
                    alias.name,
                    node.lineno,
                )
            )


def where(path: Path, line: int) -> str:
    return f"{path.relative_to(SOURCE)}:{line}"


def test_few_modules_stand_at_the_root():
    assert len(list(SOURCE.glob("*.py"))) <= 10


def test_every_room_is_on_the_plan():
    assert {room_of(module) for module in MODULES} == {FRONT_DOOR, *ROOMS}


def test_the_guide_for_contributors_has_every_room_in_this_order():
    guide = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    plan = guide.partition("## The rooms")[2].split("```")[1].strip().splitlines()
    words = [re.split("   +", line)[0] for line in plan]
    told = [name.strip("/,") for names in words for name in names.split()]
    assert told == [*(room for room in ROOMS if not room.startswith("_")), "_utils"]


def test_a_room_imports_only_from_rooms_above_it():
    """`_utils` is above them all, and so imports none."""
    wrong = [
        f"{where(path, line)} imports {module}"
        for path in TREES
        if path != SOURCE / "__init__.py"
        for module, _, line in imports(path)
        if room_of(module) != room_of(module_of(path))
        and room_of(module) != FRONT_DOOR
        and ROOMS.index(room_of(module)) > ROOMS.index(room_of(module_of(path)))
    ]
    assert not wrong, "\n".join(wrong)


def test_nobody_comes_in_by_the_front_door():
    """Inside, a name is imported from its room; only the version is asked for at the root."""
    wrong = [
        f"{where(path, line)} imports {name} from {module}"
        for path in TREES
        for module, name, line in imports(path)
        if module == FRONT_DOOR and name != "__version__"
    ]
    assert not wrong, "\n".join(wrong)


def test_there_is_no_cycle_of_modules():
    """Function-level imports count: they are how a cycle hides."""
    graph = {
        module: {
            target
            for target, _, _ in imports(path)
            # A package and its parts are one thing; what is asked of a package is in a part.
            if target != module and not module.startswith(f"{target}.")
        }
        for module, path in MODULES.items()
        if module != FRONT_DOOR
    }
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        if module in trail:
            pytest.fail(" → ".join([*trail[trail.index(module) :], module]))
        if module in done or module not in graph:
            return
        for target in sorted(graph[module]):
            visit(target, (*trail, module))
        done.add(module)

    for module in sorted(graph):
        visit(module, ())


def private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def test_no_underscore_name_is_imported():
    wrong = [
        f"{where(path, line)} imports {name} from {module}"
        for path in TREES
        for module, name, line in imports(path)
        if name is not None and private(name)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_underscore_name_crosses_an_object():
    """`other._name`, of a name that this package defines: what others call is public."""
    own = set()
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                own.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                own.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                own.add(node.id)
    wrong = [
        f"{where(path, node.lineno)} {ast.unparse(node)}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and private(node.attr)
        and node.attr in own
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
        and ast.unparse(node.value) != "super()"
    ]
    assert not wrong, "\n".join(wrong)


def docstrings(tree: ast.Module) -> set[int]:
    """Return the ids of the constants that are docstrings."""
    return {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }


def test_nothing_outside_the_bounds_names_one():
    """But `reproduce`, which is about the paper's; defaults are in the registry of the bounds."""
    names = set(list_bounds())
    # What the counts of pairs are called, before there is a bound.
    counts = ("statistics", "tandem")
    wrong = [
        f"{where(path, node.lineno)} {node.value!r}"
        for path, tree in TREES.items()
        if room_of(module_of(path)) not in ("bounds", "reproduce")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and node.value in names
        and (room_of(module_of(path)), node.value) != counts
        and id(node) not in docstrings(tree)
    ]
    assert not wrong, "\n".join(wrong)


def classes_asked_for(node: ast.AST) -> set[str]:
    """Return the classes of statistics that a question for a class names."""
    asked: list[ast.expr] = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in ("isinstance", "issubclass"):
            asked = node.args[1:]
    elif isinstance(node, ast.Compare):  # is, ==, in a tuple; or a `kind` that one of them has
        asked = [node.left, *node.comparators]
    elif isinstance(node, ast.MatchClass):
        asked = [node.cls]
    parts = [part for expression in asked for part in ast.walk(expression)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return STATISTICS & (names | {part.attr for part in parts if isinstance(part, ast.Attribute)})


@pytest.mark.parametrize(
    "question",
    [
        "isinstance(s, VoteStatistics)",
        "issubclass(kind, (int, statistics.OutOfBagStatistics))",
        "kind is OutOfBagStatistics",
        "VoteStatistics == type(s)",
        "kind not in (VoteStatistics, OutOfBagStatistics)",
        "name != OutOfBagStatistics.kind",
        "match s:\n    case VoteStatistics(): pass",
    ],
)
def test_questions_for_the_class_of_statistics_are_seen(question):
    assert any(classes_asked_for(node) for node in ast.walk(ast.parse(question)))


def test_what_is_no_question_for_the_class_of_statistics_is_not_seen():
    for plain in ("VoteStatistics.from_losses(x)", "kind.from_bags is True", "isinstance(s, int)"):
        assert not any(classes_asked_for(node) for node in ast.walk(ast.parse(plain)))


def test_only_statistics_ask_for_the_class_of_statistics():
    wrong = [
        f"{where(path, node.lineno)} {ast.unparse(node)}"
        for path, tree in TREES.items()
        if room_of(module_of(path)) != "statistics"
        for node in ast.walk(tree)
        if classes_asked_for(node)
    ]
    assert not wrong, "\n".join(wrong)
