"""`ringside check`: everything wrong with the content, one problem a line."""

import os
from pathlib import Path
from typing import Annotated

import typer


def command(
    folder: Annotated[Path | None, typer.Argument(help="The content folder; the one being served by default.")] = None,
) -> None:
    """Check every question: format, both languages, inputs and expected numbers."""
    from app.content.check import check
    from app.content.library import Library
    from app.settings import Settings
    from app.web.numbers import check_embed, check_number

    library = Library(folder or Settings().content)
    problems = check(library, check_embed=check_embed, check_number=check_number)
    for problem in problems:
        shown = os.path.relpath(problem.path)
        print(f"{shown}:{problem.line}: {problem.what} {problem.remedy}")
    if problems:
        raise typer.Exit(1)
    questions = library.questions()
    pages = sum(len(question.pages) for question in questions)
    embeds = sum(len(page.embeds()) for question in questions for page in question.pages.values())
    print(
        f"{len(questions)} questions in {len(library.topics)} topics: {pages} pages, {embeds} live blocks "
        f"and {len(library.numbers)} computed numbers are right."
    )
