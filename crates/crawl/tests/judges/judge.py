"""Judges a report: judge.py FORMAT FILE [SCHEMA]. Ends with code 0 if the report is valid.

The schemas and the validators are those that .ci/real-peers puts into target/judges.
"""

import csv
import json
import pathlib
import sys

form, file, *schema_file = sys.argv[1:]
schemas = pathlib.Path(sys.prefix) / "schemas"
with open(file, encoding="utf-8", newline="") as opened:
    report = opened.read()



def validate(schema, value):
    """Validates a value by a schema of JSON, which is valid itself."""
    import jsonschema

    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    validator(schema, format_checker=jsonschema.FormatChecker()).validate(value)


if form == "junit":
    import xmlschema

    xmlschema.XMLSchema(schemas / "junit-10.xsd").validate(file)
elif form == "sarif":
    validate(json.loads((schemas / "sarif.json").read_text()), json.loads(report))
elif form == "gitlab":
    own = pathlib.Path(__file__).with_name("gitlab.json")
    objects = json.loads(report)
    validate(json.loads(own.read_text()), objects)
    fingerprints = {item["fingerprint"] for item in objects}
    assert len(fingerprints) == len(objects), "two findings have one fingerprint"
elif form == "html":
    import html5lib

    html5lib.HTMLParser(strict=True).parse(report)
elif form == "json":
    validate(json.loads(pathlib.Path(schema_file[0]).read_text()), json.loads(report))
elif form == "jsonl":
    schema = json.loads(pathlib.Path(schema_file[0]).read_text())
    # A line is one row of a report.
    schema = {"$defs": schema["$defs"], "$schema": schema["$schema"], "$ref": "#/$defs/row"}
    for line in report.splitlines():
        validate(schema, json.loads(line))
elif form == "csv":
    rows = list(csv.reader(report.splitlines(keepends=True), strict=True))
    assert len(rows) > 1 and len({len(row) for row in rows}) == 1, "uneven rows"
else:
    sys.exit(f"no judge for {form}")
