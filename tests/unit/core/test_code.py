"""code_of changes when behaviour may change, and only then."""

import os

import pytest

from headwater.core import code
from headwater.core.code import code_of, files_of


@pytest.fixture
def package(tmp_path):
    root = tmp_path / "src"
    (root / "headwater/a/pages").mkdir(parents=True)
    files = {
        "__init__.py": "",
        "a/__init__.py": "",
        "a/one.py": "from headwater.a import two\nfrom .three import f\nimport numpy\n",
        "a/two.py": '"""Doc."""\n\nTABLE = "numbers.yaml"\nPAGES = "pages"\n',
        "a/three.py": "def f():\n    return 1\n",
        "a/other.py": "x = 1\n",
        "a/numbers.yaml": "a: 1\n",
        "a/pages/page.html.j2": "<p>\n",
    }
    for name, text in files.items():
        (root / "headwater" / name).write_text(text)
    return root


def digest(root):
    """Return the digest as a new process finds it."""
    for name in ("_store", "_source", "_names"):
        getattr(code, name).cache_clear()
    return code_of("headwater.a.one", root=root)


def test_files_are_the_closure_of_the_imports_and_the_named_data(package):
    names = {
        str(p.relative_to(package / "headwater")) for p in files_of("headwater.a.one", root=package)
    }
    assert names == {
        "__init__.py",
        "a/__init__.py",
        "a/one.py",
        "a/two.py",
        "a/three.py",
        "a/numbers.yaml",
        "a/pages/page.html.j2",
    }


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a/three.py", "def f():\n    return 2\n"),
        ("a/numbers.yaml", "a: 2\n"),
        ("a/pages/page.html.j2", "<b>\n"),
        ("a/one.py", "from headwater.a import two\n"),
    ],
)
def test_a_change_of_behaviour_changes_the_digest(package, file, text):
    before = digest(package)
    (package / "headwater" / file).write_text(text)
    assert digest(package) != before


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a/three.py", "# why\ndef f():\n    '''Say.'''\n\n    return 1\n"),
        ("a/two.py", '"""Other words."""\nTABLE = "numbers.yaml"\nPAGES = "pages"\n'),
        ("a/other.py", "x = 2\n"),
    ],
)
def test_comments_docstrings_and_strangers_do_not(package, file, text):
    before = digest(package)
    (package / "headwater" / file).write_text(text)
    assert digest(package) == before


def test_a_name_without_source_is_an_error(package):
    with pytest.raises(ModuleNotFoundError, match=r"headwater\.b"):
        files_of("headwater.b", root=package)


@pytest.fixture
def settled(package, monkeypatch):
    """Return a package whose files are old enough to be remembered."""
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    for path in package.rglob("*.py"):
        os.utime(path, (1e9, 1e9))
    return package


def test_files_that_are_as_they_were_are_not_read_again(settled, monkeypatch):
    before = digest(settled)
    assert (settled / code.KEPT).is_file()
    monkeypatch.setattr(code, "_read", None)
    assert digest(settled) == before


def test_a_remembered_file_that_changes_is_read_again(settled):
    before = digest(settled)
    path = settled / "headwater/a/three.py"
    path.write_text(path.read_text().replace("1", "2"))  # the same size
    assert digest(settled) != before
    path.write_text(path.read_text().replace("2", "1"))
    assert digest(settled) == before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 0, "files": {}}', '{"version": 1}'])
def test_a_damaged_memory_is_written_anew(settled, text):
    before = digest(settled)
    (settled / code.KEPT).write_text(text)
    assert digest(settled) == before
    assert "three.py" in (settled / code.KEPT).read_text()


def test_what_has_just_changed_is_not_remembered(package, monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    digest(package)
    assert not (package / code.KEPT).exists()
