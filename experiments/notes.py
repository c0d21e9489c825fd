"""Why a table or a figure looks as it does: name of the artefact -> markdown, inserted below it on the page."""

NOTES: dict[str, str] = {}
