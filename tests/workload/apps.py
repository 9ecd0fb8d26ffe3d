from django.apps import AppConfig


class WorkloadConfig(AppConfig):
    name = "tests.workload"
    label = "workload"
