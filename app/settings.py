"""All settings, read once by an entry point (`ringside serve`, a test, the runner) and passed on.

Each can be given in the environment: `RINGSIDE_DATA`, `RINGSIDE_CONTENT`,
`RINGSIDE_DATABASE_URL`, `HOST` / `RINGSIDE_HOST`, `PORT` / `RINGSIDE_PORT`, ...
Nothing else in the program reads the environment.
"""

import os
import tempfile
from pathlib import Path
from zoneinfo import available_timezones

from platformdirs import user_data_path
from pydantic import AliasChoices, Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.core.db import sqlite_url

ROOT = Path(__file__).parent.parent
"""The folder that holds `app/`, `templates/`, `static/` and `content/`."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Settings(BaseSettings):
    """What an installation may change."""

    model_config = SettingsConfigDict(env_prefix="RINGSIDE_", frozen=True, populate_by_name=True)

    host: str = Field("127.0.0.1", validation_alias=AliasChoices("RINGSIDE_HOST", "HOST"))
    port: int = Field(8000, ge=0, le=65535, validation_alias=AliasChoices("RINGSIDE_PORT", "PORT"))
    data: Path = Field(default_factory=lambda: user_data_path("ringside"))
    content: Path = ROOT / "content"
    templates: Path = ROOT / "templates"
    static: Path = ROOT / "static"
    database_url: str = ""
    allowed_hosts: tuple[str, ...] = ()
    """Host names besides loopback and `host` under which the site may be addressed."""
    owner_token: str = ""
    """Needed to start runs when the site is not bound to loopback; see `app/web/owner.py`."""
    time_zone: str = "UTC"
    """IANA zone of a learner who has not said otherwise (the browser tells its zone)."""
    watch_content: bool = True
    runner_on_demand: bool = True
    """Whether the web app starts `ringside runner` itself when a benchmark run waits."""
    runner_idle_seconds: float = Field(300.0, ge=0)
    """How long a runner without work stays."""

    locks: Path = Field(default_factory=lambda: Path(tempfile.gettempdir()) / f"ringside-{os.getuid()}")
    """Where the devices of this machine are locked while a run uses them, for all data folders of this user."""

    @field_validator("time_zone")
    @classmethod
    def _zone_exists(cls, name: str) -> str:
        if name not in available_timezones():
            raise ValueError(f"{name!r} is no IANA time zone; write it as Asia/Shanghai or UTC")
        return name

    @property
    def database(self) -> str:
        """The database URL: the one given, or a SQLite file in the data folder."""
        return self.database_url or sqlite_url(self.data / "ringside.sqlite3")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK
