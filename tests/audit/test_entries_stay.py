"""The database itself refuses to change what was written down, whoever asks."""

import pytest
from django.db import IntegrityError, connection, transaction

from apps.audit.models import Entry
from apps.audit.record import Actor, record

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "statement", ["UPDATE audit_entry SET actor = 'nobody'", "DELETE FROM audit_entry", "TRUNCATE audit_entry"]
)
def test_an_entry_is_neither_changed_nor_taken_away(statement):
    record(actor=Actor(name="ann@example.com"), organization_id=None, action="a.b", target_type="a", target_id="1")
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert Entry.objects.get().actor == "ann@example.com"
