from django.db import migrations


class Migration(migrations.Migration):
    """What the next release brings: a column on the hottest table."""

    dependencies = [("jobs", "0001_initial")]
    operations = [migrations.RunSQL("ALTER TABLE jobs_job ADD COLUMN growth integer", migrations.RunSQL.noop)]
