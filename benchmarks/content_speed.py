"""How fast content is read: `python benchmarks/content_speed.py`.

Two measurements. First, parsing and rendering generated question files against bare markdown-it-py
(CommonMark and tables) rendering the same Markdown, the two taking turns over the same chunk of
files, so that a busy machine slows both; the ratio is the result. Second, the time from the write
of a changed file to the moment a running library answers with the new text.
"""

import argparse
import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from app.content.library import Library
from app.content.model import Embed, Page, Part, Question
from app.content.parse import parse_question
from app.content.render import Renderer
from app.core.i18n import Text, same

CHUNK = 10

YAML = """\
slug: question-{number}
order: {number}
tags: [tensor-parallelism, 通信]
status: asked
verified_on: 2026-11-29
asked_by:
  - company: {{en: A company, zh: 某公司}}
    quote: "通信量怎么算"
    source: paper
sources:
  paper: {{title: "A paper", locator: "section 3", url: "https://example.org/{number}", checked: 2026-11-29}}
"""

ENGLISH = (
    "Each rank keeps **one shard** of the weight and sends $2(t-1)/t$ of the message[^paper], which at "
    "`tensor_parallel_size` {number} is {{{{calc:tp-communication:message_bytes?hidden_size={number}}}}}. Nothing "
    "of this overlaps with the *next* GEMM unless the gather was issued early, see [the derivation](#derivation)."
)
CHINESE = (
    "每个 rank 只保留 weight 的**一个 shard。**每次 all-reduce 要发送 $2(t-1)/t$ 倍的消息[^paper],取 `hidden_size` "
    "{number} 时是 {{{{calc:tp-communication:message_bytes?hidden_size={number}}}}}。除非 gather 提前发出,"
    "否则它和下一个GEMM不会重叠,见[推导](#derivation)。"
)
BODY = """\
# Question {number}: how much does it send?

## asked

- How many all-reduces does one layer take, and where do they stand?
- Why {number}?

## concepts

### Shard {{#shard}}

{text}

### Bus bandwidth {{#busbw}}

{text}

## picture

{text}

```timeline gtp-chain {{#prefetch}}
layers: 5
gemm: 1.25
caption: Only the first gather is exposed.
```

## answer

{text} {text}

## derivation

{text}

$$
T = \\alpha + \\frac{{2(t-1)}}{{t}} \\cdot \\frac{{S}}{{B}}
$$

{text}

1. {text}
2. {text}

## compare

| scheme | bytes | when |
|---|---:|---|
| TP | $2(t-1)/t$ | every layer |
| ZeRO-3 | $P(A|B)$ | every `step|layer` |
| GTP | {number} | {text} |

## worked

{text}

```calculator tp-communication {{#inside}}
hidden_size: {number}
expect:
  message_bytes: 67108864
```

```python
def bytes_sent(size: int, ranks: int) -> float:
    return 2 * (ranks - 1) / ranks * size
```

## must

- It takes ==four== all-reduces per layer. {{#count}}
- {text} {{#why}}

## followups

### And across nodes? {{#nodes}}

{text}

{text}

### With a longer sequence? {{#sequence}}

{text}

## wrong

### The gather is free {{#free}}

{text}
"""


def question_files(number: int) -> dict[str, bytes]:
    """The three files of generated question `number`."""
    texts = {"en.md": ENGLISH, "zh.md": CHINESE}
    pages = {name: BODY.format(number=number, text=text.format(number=number)) for name, text in texts.items()}
    files = {"question.yaml": YAML.format(number=number), **pages}
    return {name: text.encode() for name, text in files.items()}


def evaluate(_kind: object, _slug: object, _result: object, _inputs: object) -> Text:
    """A stand-in for the engines, whose speed is measured elsewhere."""
    return same("64 MiB (67.11 MB)")


def markdown_of(page: Page) -> Iterator[str]:
    """Every block of Markdown that the study page renders."""
    for concept in page.concepts:
        yield concept.body
    yield page.answer
    sections: tuple[tuple[Part, ...], ...] = (page.picture, page.derivation, page.compare, page.worked)
    for section in (*sections, *(entry.answer for entry in page.followups)):
        yield from (part.caption if isinstance(part, Embed) else part.markdown for part in section)
    for wrong in page.wrong:
        yield wrong.fact


def lines_of(page: Page) -> Iterator[str]:
    """Every single line of Markdown that it renders."""
    yield page.title
    yield from page.asked
    for concept in page.concepts:
        yield concept.term
    for point in page.must:
        yield point.markdown
    for entry in page.followups:
        yield entry.question
    for wrong in page.wrong:
        yield wrong.claim


def render_question(renderer: Renderer, question: Question) -> int:
    """Render both pages in full; the size of the HTML in characters."""
    size = 0
    for language, page in question.pages.items():
        size += sum(len(renderer.block(text, question=question, language=language)) for text in markdown_of(page))
        size += sum(len(renderer.inline(text, question=question, language=language)) for text in lines_of(page))
    return size


def measure_ratio(files: int) -> None:
    """Ringside against bare markdown-it-py over `files` language files (two a question)."""
    bare = MarkdownIt("commonmark").enable("table")
    renderer = Renderer(evaluate)
    ours, theirs, parsing, ratios = 0.0, 0.0, 0.0, []
    questions = files // 2
    for first in range(0, questions, CHUNK):
        chunk = [(number, question_files(number)) for number in range(first, min(first + CHUNK, questions))]
        gc.collect()
        begin = time.process_time()
        reads = [parse_question(Path("topic", f"question-{number}"), content) for number, content in chunk]
        parsed = time.process_time()
        for read in reads:
            assert read.question is not None, read.problems
            assert not read.problems, read.problems
            render_question(renderer, read.question)
        rendered = time.process_time()
        for _, content in chunk:
            for name in ("en.md", "zh.md"):
                bare.render(content[name].decode())
        end = time.process_time()
        ours += rendered - begin
        parsing += parsed - begin
        theirs += end - rendered
        ratios.append((rendered - begin) / (end - rendered))
    size = sum(len(content) for content in question_files(1).values()) / 2
    print(f"{files} language files of about {size / 1e3:.1f} kB, in chunks of {2 * CHUNK}, taking turns")
    print(f"ringside       {ours:7.2f} s  (parse {parsing:.2f} s, render {ours - parsing:.2f} s)")
    print(f"markdown-it-py {theirs:7.2f} s")
    print(f"ratio          {ours / theirs:7.2f}    median of chunks {statistics.median(ratios):.2f}")


async def measure_latency(questions: int, changes: int) -> None:
    """From writing a file to reading the change through a library that watches."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "content")
        topic = root / "topic"
        for number in range(questions):
            target = topic / f"question-{number}"
            target.mkdir(parents=True)
            for name, content in question_files(number).items():
                (target / name).write_bytes(content)
        (topic / "topic.yaml").write_text("order: 1\ntitle: {en: T, zh: 题}\nsummary: {en: S, zh: 概要}\n")
        begin = time.perf_counter()
        library = Library(root)
        loaded = time.perf_counter() - begin
        begin = time.perf_counter()
        library.refresh()
        unchanged = time.perf_counter() - begin
        times = []
        async with library.watching(enabled=True):
            await asyncio.sleep(1)
            for change in range(changes):
                path = topic / f"question-{change % questions}" / "en.md"
                title = f"Changed {change}"
                text = path.read_text().replace(path.read_text().split("\n", 1)[0], f"# {title}", 1)
                begin = time.perf_counter()
                path.write_text(text)
                while library.question(path.parent.name).pages["en"].title != title:
                    assert time.perf_counter() - begin < 5, "the change was not noticed"
                    await asyncio.sleep(0.001)
                times.append((time.perf_counter() - begin) * 1e3)
                await asyncio.sleep(0.2)
    print(f"{questions} questions: read in {loaded:.2f} s, looked through for changes in {unchanged * 1e3:.0f} ms")
    median, worst = statistics.median(times), max(times)
    print(f"change to live  {median:.0f} ms in the median of {changes}, {worst:.0f} ms at worst")


def main() -> None:
    """Run both and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    arguments.add_argument("--files", type=int, default=1000)
    arguments.add_argument("--changes", type=int, default=20)
    options = arguments.parse_args()
    measure_ratio(options.files)
    asyncio.run(measure_latency(options.files // 2, options.changes))


if __name__ == "__main__":
    main()
