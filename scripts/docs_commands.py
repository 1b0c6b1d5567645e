"""Hook of mkdocs: build the page of commands from the command line, so that it is not a file of the repository."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from merilo.cli.reference import reference


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add `commands.md` to the pages of the site."""
    files.append(File.generated(config, "commands.md", content=reference()))
    return files
