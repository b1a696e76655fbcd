"""`ringside node`: the nodes that benchmarks may run on, in `nodes.toml` of the data folder.

The file may be edited by hand as well. What a launcher needs stands in its settings, which `ringside node launchers` lists; no
secret is ever asked for or stored, keys are named by their files.
"""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from app.bench.checkup import Checkup, Checkups
    from app.bench.launchers.model import Launcher, Node
    from app.bench.nodes import NodeFile

command = typer.Typer(help="List, add, test and remove the nodes benchmarks run on.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The node's name: lower-case letters, digits and dashes.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@command.command("list")
def list_nodes(*, as_json: AsJson = False) -> None:
    """List the nodes with the outcome of their last test. Exits 1 when a section of nodes.toml is wrong."""
    import json

    file, checkups = _installation()
    nodes, broken = file.read()
    if as_json:
        document = {
            "nodes": [_described(node, checkups.last(node)) for node in nodes.values()],
            "broken": [{"name": entry.name, "reason": entry.reason.en} for entry in broken],
        }
        typer.echo(json.dumps(document))
    else:
        for name, node in nodes.items():
            where = ", ".join(sorted(node.devices)) or "-"
            typer.echo(f"{name:<20} {node.launcher.slug:<8} {where:<32} {_outcome(checkups.last(node))}")
        for entry in broken:
            typer.echo(f"{entry.name:<20} BROKEN   {entry.reason.en}")
    if broken:
        raise typer.Exit(1)


@command.command()
def launchers() -> None:
    """List the kinds of node there are, with the settings each takes."""
    from app.bench.nodes import known_launchers
    from app.bench.settings_text import describe

    for slug, launcher in known_launchers().items():
        typer.echo(f"{slug}: {launcher.note.en}")
        for setting in describe(launcher):
            needed = " (needed)" if setting.is_required else ""
            typer.echo(f"  {setting.name:<14} {setting.label.title.en}{needed}. {setting.label.help.en}")


@command.command()
def add(
    name: Name,
    launcher: Annotated[str, typer.Option(help="The kind of node; `ringside node launchers` lists them.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting; repeat it for more.")
    ] = None,
) -> None:
    """Add a node. Nothing is connected to; test it afterwards."""
    from app.bench.nodes import make
    from app.bench.settings_text import read

    file, _ = _installation()
    section = read(_launcher(launcher), _texts(settings or []))
    node = make(name, section)
    file.add(node)
    typer.echo(f"Added to {file.path}:\n\n{file.section(name)}")
    typer.echo(f"Test it now: ringside node test {name}")


@command.command("test")
def ask(
    name: Name,
    *,
    seconds: Annotated[float, typer.Option(help="How long to wait for an answer.", min=1, max=600)] = 30,
    as_json: AsJson = False,
) -> None:
    """Ask a node what it offers. Exits 1 when no run could start there."""
    import json

    from app.bench.codec import plain
    from app.core.clock import utc_now

    file, checkups = _installation()
    node = file.get(name)
    if not as_json:
        typer.echo(f"Asking {name} ...", err=True)
    checkup = checkups.ask(node, clock=utc_now, seconds=seconds)
    if checkup is None:
        typer.echo("Somebody else is testing this node; try again in a moment.", err=True)
        raise typer.Exit(1)
    if as_json:
        typer.echo(json.dumps({**_described(node, checkup), "checkup": plain(checkup)}))
    else:
        _show(checkup)
    if not checkup.is_ready:
        raise typer.Exit(1)


@command.command()
def remove(
    name: Name,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a node from nodes.toml; the runs that were made on it stay."""
    file, checkups = _installation()
    file.section(name)
    if not yes:
        typer.confirm(f"Remove the node {name} from {file.path}?", abort=True)
    file.remove(name)
    checkups.forget(name)
    typer.echo(f"Removed {name}.")


def _installation() -> "tuple[NodeFile, Checkups]":
    from app.bench.checkup import Checkups, checkups_folder
    from app.bench.home import nodes_path
    from app.bench.nodes import NodeFile
    from app.settings import Settings

    data = Settings().data
    return NodeFile(nodes_path(data)), Checkups(checkups_folder(data))


def _launcher(slug: str) -> "Launcher":
    from app.bench.nodes import known_launchers
    from app.core.errors import InvalidInput
    from app.core.i18n import Text

    known = known_launchers()
    if slug not in known:
        choices = ", ".join(known)
        raise InvalidInput({"launcher": Text(f"Choose one of {choices}.", f"请从 {choices} 中选择。")})
    return known[slug]


def _texts(settings: list[str]) -> dict[str, str]:
    """Texts by setting; one given again adds a line, for lists and variables."""
    from app.core.errors import InvalidInput
    from app.core.i18n import Text

    found: dict[str, str] = {}
    for entry in settings:
        name, equals, value = entry.partition("=")
        if not equals:
            raise InvalidInput(
                {"--set": Text(f"Write NAME=VALUE, not {entry!r}.", f"请写成 NAME=VALUE，不是 {entry!r}。")}
            )
        key = name.strip().replace("-", "_")
        found[key] = f"{found[key]}\n{value}" if key in found else value
    return found


def _described(node: "Node", checkup: "Checkup | None") -> dict[str, object]:
    return {
        "name": node.name,
        "title": node.title.en,
        "launcher": node.launcher.slug,
        "settings": node.settings.model_dump(mode="json"),
        "devices": sorted(node.devices),
        "is_ready": None if checkup is None else checkup.is_ready,
        "asked_at": None if checkup is None else checkup.asked_at,
    }


def _outcome(checkup: "Checkup | None") -> str:
    if checkup is None:
        return "not tested"
    return f"{'ready' if checkup.is_ready else 'NOT READY'}, tested {checkup.asked_at}"


def _show(checkup: "Checkup") -> None:
    from app.bench.diagnosis.explain import explain
    from app.core.units import binary_bytes

    for host in checkup.hosts:
        typer.echo(f"{host.host}")
        typer.echo(f"  Python      {host.python}")
        accelerator = "".join(
            f", {name} {value}" for name, value in (("NCCL", host.nccl), ("CUDA", host.cuda)) if value
        )
        typer.echo(f"  PyTorch     {host.torch or 'cannot be imported'}{accelerator}")
        typer.echo(f"  GPUs        {', '.join(host.gpus) or 'none'}")
        shm = "" if host.shm_bytes is None else f", shared memory {binary_bytes(host.shm_bytes)}"
        typer.echo(f"  memory      {binary_bytes(host.memory_bytes)} on {host.cores} cores{shm}")
        typer.echo(f"  disk        {binary_bytes(host.disk_bytes)} free")
        typer.echo(f"  interfaces  {', '.join(f'{name} {at}' for name, at in host.interfaces.items()) or 'none'}")
    for report in checkup.reports:
        typer.echo(f"{report.title} on {report.host}")
        typer.echo("\n".join(f"  {line}" for line in report.lines))
    for problem in checkup.problems:
        explanation = explain(problem, log=checkup.log)
        typer.echo(f"{'error' if problem.fatal else 'note'}: {explanation.message.en} {explanation.remedy.en}")
    if not checkup.is_ready and checkup.log:
        typer.echo("Last lines of the log:")
        typer.echo("\n".join(f"  {line}" for line in checkup.log))
    typer.echo(f"{'ready' if checkup.is_ready else 'not ready'} ({checkup.seconds:.1f} s)")
