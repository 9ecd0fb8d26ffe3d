"""How a row is made and changed: checked by its model, told apart by field, named when it is refused."""

import json
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError, models, transaction

from apps.errors import BadInput, Fault, NotFound, Taken

TAKEN = Fault("#/name", "This name is taken.")


def hold[M: models.Model](rows: models.QuerySet[M], key: object) -> M:
    """Lock one row until the transaction ends; raises NotFound for one that has gone."""
    row = rows.select_for_update(of=("self",)).filter(pk=key).first()
    if row is None:
        raise NotFound
    return row


def make[M: models.Model](row: M, *, taken: Fault = TAKEN) -> M:
    """Check and insert a row; Taken says `taken` where another one has what must be unique."""
    _check(row)
    _keep(row, taken)
    return row


def change(row: models.Model, fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Set and save fields of a row the caller holds; answers what they were and are, where that differs."""
    before = told(row)
    for name, value in fields.items():
        setattr(row, name, value)
    after = told(row)
    changed = [name for name in after if after[name] != before[name]]
    if changed:
        _check(row)
        _keep(row, TAKEN)
    return {name: before[name] for name in changed}, {name: after[name] for name in changed}


def told(row: models.Model) -> dict[str, Any]:
    """The row as JSON values, for the audit."""
    values = {
        field.attname: field.value_from_object(row)
        for field in row._meta.concrete_fields
        if not isinstance(field, models.BinaryField)
    }
    spoken: dict[str, Any] = json.loads(json.dumps(values, cls=DjangoJSONEncoder))
    return spoken


def _check(row: models.Model) -> None:
    try:
        row.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        raise BadInput(errors=list(_faults(error))) from error


def _faults(error: ValidationError) -> list[Fault]:
    return [
        Fault("#" if field == NON_FIELD_ERRORS else f"#/{field}", sentence)
        for field, sentences in error.message_dict.items()
        for sentence in sentences
    ]


def _keep(row: models.Model, taken: Fault) -> None:
    """Save, and let the database be the judge of uniqueness: nobody can slip in between."""
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        if "unique" not in str(error):
            raise
        raise Taken.by(taken) from error
