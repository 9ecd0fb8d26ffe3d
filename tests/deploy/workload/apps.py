from django.apps import AppConfig


class DeployConfig(AppConfig):
    name = "tests.deploy.workload"
    label = "deploy"
