"""code_of changes when behaviour may change, and only then."""

import pytest

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
    code_of.__globals__["_content"].cache_clear()
    code_of.__globals__["_dependencies"].cache_clear()
    code_of.__globals__["_tree"].cache_clear()
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
