"""Where the endpoints of queues stand, below /api/v1/."""

from apps.queues import api

urlpatterns = [
    api.Queues.at("projects/<uuid:project>/queues"),
    api.PauseQueue.at("queues/<uuid:queue>/pause"),
    api.PausedTypes.at("projects/<uuid:project>/paused-types"),
    api.PauseType.at("projects/<uuid:project>/types/<path:type>/pause"),
    api.Policies.at("projects/<uuid:project>/retry-policies"),
    api.OnePolicy.at("retry-policies/<uuid:policy>"),
]
