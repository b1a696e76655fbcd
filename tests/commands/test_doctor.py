"""`ringside doctor` tells what is wrong and how to mend it."""

from pathlib import Path

from app import doctor
from app.doctor import Finding, examine
from app.settings import Settings


def finding(settings: Settings, name: str) -> Finding:
    return next(found for found in examine(settings) if found.name == name)


def test_a_sound_installation_has_every_required_part(settings: Settings) -> None:
    wrong = [found for found in examine(settings) if found.required and found.state != "ok"]

    assert wrong == []


def test_missing_front_end_packages_name_the_remedy(settings: Settings, tmp_path: Path) -> None:
    found = finding(settings.model_copy(update={"static": tmp_path}), "front-end packages")

    assert found.state == "missing"
    assert "make setup" in found.remedy


def test_unreachable_database_is_reported_not_raised(settings: Settings) -> None:
    unreachable = settings.model_copy(update={"database_url": "postgresql://nobody@127.0.0.1:1/none"})

    found = finding(unreachable, "database")

    assert found.state == "broken"
    assert "RINGSIDE_DATABASE_URL" in found.remedy


def test_data_folder_that_is_a_file_is_reported(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    found = finding(settings.model_copy(update={"data": tmp_path / "file"}), "data folder")

    assert found.state == "broken"


def nodes_finding(settings: Settings, text: str) -> Finding:
    settings.data.mkdir(parents=True, exist_ok=True)
    (settings.data / "nodes.toml").write_text(text)
    return doctor.nodes(settings)


def test_nodes_are_listed(settings: Settings) -> None:
    found = nodes_finding(settings, '[second]\nlauncher = "local"\n')

    assert (found.state, found.required) == ("ok", False)
    assert "local, second" in found.detail


def test_a_broken_section_of_nodes_is_named_with_its_reason(settings: Settings) -> None:
    found = nodes_finding(settings, '[gpu]\nlauncher = "ssh"\n')

    assert found.state == "broken"
    assert "gpu: hosts: This is needed." in found.detail
    assert "ringside node remove" in found.remedy


def test_a_node_over_ssh_needs_known_host_keys(settings: Settings, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    section = f'[gpu]\nlauncher = "ssh"\nhosts = ["me@gpu1"]\nknown_hosts = "{known}"\n'

    absent = nodes_finding(settings, section)
    known.write_text("")
    present = nodes_finding(settings, section)

    assert (absent.state, present.state) == ("missing", "ok")
    assert f"gpu needs {known}" in absent.detail
    assert "ringside node test gpu" in absent.remedy


def test_a_slurm_node_needs_sbatch_or_a_login_node(settings: Settings, tmp_path: Path) -> None:
    found = nodes_finding(settings, f'[cluster]\nlauncher = "slurm"\nbin_folder = "{tmp_path}"\n')

    assert found.state == "missing"
    assert "sbatch" in found.detail
    assert "via" in found.remedy
