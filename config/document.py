"""How the API's document is drawn from the code."""

SPECTACULAR = {
    "TITLE": "Fencepost",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "BreakerState": "apps.queues.models.BreakerState",
        "JobState": "apps.jobs.states.JobState",
        "Role": "apps.accounts.models.Role",
        "WorkerState": "apps.jobs.serializers.answers.WORKER_STATES",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.accounts.api.schema.finish",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}
