"""How pages are made of templates: text is escaped, and a name that is not given is an error."""

from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined

REPORT = PackageLoader("narrows.report", "templates")


def environment(loader: BaseLoader = REPORT) -> Environment:
    """With the report's templates, or others."""
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
