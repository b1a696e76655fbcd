"""Stores are tested on both kinds of database, like the cards' store."""

from tests.cards.conftest import database, make_database, postgres_server

__all__ = ["database", "make_database", "postgres_server"]
