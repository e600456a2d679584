"""Judges a report: judge.py FORMAT FILE. Ends with code 0 if the report is valid.

The schemas and the validators are those that .ci/real-peers puts into target/judges.
"""

import csv
import json
import pathlib
import sys

form, file = sys.argv[1:]
schemas = pathlib.Path(sys.prefix) / "schemas"
with open(file, encoding="utf-8", newline="") as opened:
    report = opened.read()

if form == "junit":
    import xmlschema

    xmlschema.XMLSchema(schemas / "junit-10.xsd").validate(file)
elif form == "sarif":
    import jsonschema

    schema = json.loads((schemas / "sarif.json").read_text())
    checker = jsonschema.FormatChecker()
    validator = jsonschema.validators.validator_for(schema)
    validator(schema, format_checker=checker).validate(json.loads(report))
elif form == "html":
    import html5lib

    html5lib.HTMLParser(strict=True).parse(report)
elif form == "json":
    json.loads(report)
elif form == "jsonl":
    for line in report.splitlines():
        json.loads(line)
elif form == "csv":
    rows = list(csv.reader(report.splitlines(keepends=True), strict=True))
    assert len(rows) > 1 and len({len(row) for row in rows}) == 1, "uneven rows"
else:
    sys.exit(f"no judge for {form}")
