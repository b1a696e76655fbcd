"""`ringside doctor`: what is there, what is missing, and the remedy."""

import typer

MARKS = {"ok": "ok     ", "missing": "missing", "broken": "BROKEN "}


def command() -> None:
    """List what this installation has and what it lacks. Exits 1 when something required is not right."""
    from app.doctor import examine
    from app.settings import Settings

    findings = examine(Settings())
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        typer.echo(f"{MARKS[finding.state]}  {finding.name:<{width}}  {finding.detail}")
        if finding.remedy and finding.state != "ok":
            typer.echo(f"{'':>7}  {'':<{width}}  -> {finding.remedy}")
    if any(finding.required and finding.state != "ok" for finding in findings):
        raise typer.Exit(1)
