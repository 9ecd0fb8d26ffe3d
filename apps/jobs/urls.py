"""Where the endpoints of jobs stand, below /api/v1/."""

from apps.jobs.api import files, order, queues, read, submit, verbs

urlpatterns = [
    queues.OneQueue.at("queues/<uuid:queue>"),
    queues.ResumeQueue.at("queues/<uuid:queue>/resume"),
    queues.QueueBreaker.at("queues/<uuid:queue>/breaker"),
    queues.PurgeQueue.at("queues/<uuid:queue>/purge"),
    queues.ResumeType.at("projects/<uuid:project>/types/<str:type>/resume"),
    submit.Submit.at("queues/<uuid:queue>/jobs"),
    submit.SubmitBatch.at("queues/<uuid:queue>/jobs/batch"),
    queues.ReplayQueue.at("queues/<uuid:queue>/dlq/replay"),
    read.Jobs.at("jobs"),
    read.OneJob.at("jobs/<uuid:job>"),
    read.Logs.at("jobs/<uuid:job>/logs"),
    files.File.at("jobs/<uuid:job>/files/<str:name>"),
    verbs.Cancel.at("jobs/<uuid:job>/cancel"),
    verbs.Retry.at("jobs/<uuid:job>/retry"),
    verbs.Replay.at("jobs/<uuid:job>/replay"),
    order.Pause.at("jobs/<uuid:job>/pause"),
    order.Resume.at("jobs/<uuid:job>/resume"),
    order.Reschedule.at("jobs/<uuid:job>/reschedule"),
    order.Priority.at("jobs/<uuid:job>/priority"),
    order.Move.at("jobs/<uuid:job>/move"),
    order.RunNext.at("jobs/<uuid:job>/run-next"),
    read.DeadLetters.at("dlq"),
    verbs.DeadLetter.at("dlq/<uuid:job>"),
    verbs.ReplayDeadLetter.at("dlq/<uuid:job>/replay"),
    read.Workers.at("workers"),
]
