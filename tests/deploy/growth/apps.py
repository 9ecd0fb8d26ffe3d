from django.apps import AppConfig


class GrowthConfig(AppConfig):
    name = "tests.deploy.growth"
    label = "growth"
