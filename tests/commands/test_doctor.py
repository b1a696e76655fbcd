"""`ringside doctor` tells what is wrong and how to mend it."""

from pathlib import Path

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
