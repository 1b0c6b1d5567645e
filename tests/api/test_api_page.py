"""Every block of the library's page and of the READMEs runs."""

import re
from pathlib import Path

import pytest
from every import every

import merilo

ROOT = Path(__file__).resolve().parents[2]


@every("name", ["docs/api.md", "README.md", "README.ru.md"])
def test_the_blocks_of_a_page_run_one_after_the_other(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    (tmp_path / "pool.csv").write_text("task,worker,label\n1,a,x\n1,b,x\n1,c,y\n", encoding="utf-8")
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, name, "exec"), names)


def test_every_public_name_is_on_the_page() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert not [name for name in merilo.__all__ if name != "__version__" and name not in page]
