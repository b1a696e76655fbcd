"""Alembic's entry: runs on the connection that `Database.migrate` hands over, inside its transaction."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=None,
    render_as_batch=True,
    transaction_per_migration=False,
)
context.run_migrations()
