"""`ringside check`: what the engines say about the content, and the command around it."""

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from app.__main__ import cli
from app.content.library import Library
from app.settings import ROOT

RUNNER = CliRunner()

WORKED = """\
# T

## worked

```calculator tp-communication {#right}
tensor_parallel_size: 8
expect: {message_bytes: 67108864, time_per_all_reduce_s: 0.000261 ± 1 %}
```

```calculator tp-communication {#wrong-value}
expect: {message_bytes: 67108865}
```

```calculator tp-communication {#wrong-name}
tensor_paralel_size: 8
```

```calculator tp-communication {#wrong-result}
expect: {bytes: 1}
```

```calculator nothing-like-it {#wrong-slug}
```

```timeline gtp-chain {#wrong-compare}
compare: {pass: sideways}
```

{{calc:tp-communication:bytes}} {{timeline:gtp-chain:exposed?layers=many}} {{calc:busbw:algbw?x=1}}
"""


def run(folder: Path) -> tuple[int, list[str]]:
    result = RUNNER.invoke(cli, ["check", str(folder)])
    return result.exit_code, result.output.splitlines()


def test_the_shipped_content_is_right() -> None:
    code, lines = run(ROOT / "content")

    assert code == 0
    assert len(lines) == 1
    assert lines[0].endswith("computed numbers are right.")


def test_every_disagreement_with_the_engines_is_one_line(folder: Any) -> None:
    place = folder.question("one", en=WORKED, zh=WORKED)

    code, lines = run(folder.root)

    assert code == 1
    english = [line.split("en.md:")[1] for line in lines if "en.md:" in line]
    assert [line.split(". ")[0].split(" There are")[0] for line in english] == [
        "10: In the calculator {#wrong-value}: `message_bytes` is 67108864 bytes, not 67108865 as `expect:` says",
        "14: In the calculator {#wrong-name}: The input `tensor_paralel_size`: There is no such input",
        "18: In the calculator {#wrong-result}: There is no result `bytes`",
        "22: In the calculator {#wrong-slug}: There is no calculator “nothing-like-it”",
        english[4].split(". ")[0],
        "29: tp-communication has no result 'bytes'",
        "29: The input `layers`: Enter a whole number, such as 4096",
        "29: The input `x`: There is no such input",
    ]
    assert english[4].startswith("25: In the timeline {#wrong-compare}: The input `pass`")
    assert len(lines) == 2 * len(english)
    assert place.name == "one"


def test_an_empty_folder_is_no_success(tmp_path: Path) -> None:
    code, lines = run(tmp_path)

    assert code == 1
    assert "No content was found in this folder." in lines[0]


def test_problems_of_all_files_are_listed_at_once(folder: Any) -> None:
    folder.question("one", yaml="slug: [\n", en="# T\n\n## x\n\ny\n")
    folder.question("two", zh="no title\n")

    code, lines = run(folder.root)

    assert code == 1
    assert len(lines) == len(Library(folder.root).problems()) == 3
