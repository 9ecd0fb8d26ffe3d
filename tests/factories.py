"""Things to work on, each with what it hangs on. Jobs are made by the engine: see tests/acts.py."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from factory.declarations import LazyFunction, Sequence, SubFactory
from factory.django import DjangoModelFactory

from apps.accounts.models import ApiToken, Membership, Organization, Project, Role, TokenKind, User
from apps.accounts.selectors.tokens import digest, new_text
from apps.queues.models import Queue, RetryPolicy
from apps.workers.models import Session, Worker

PASSWORD = "correct horse battery staple"


class UserFactory(DjangoModelFactory[User]):
    class Meta:
        model = User

    email = Sequence(lambda n: f"user{n}@example.com")
    name = Sequence(lambda n: f"User {n}")

    @classmethod
    def _create(cls, model_class: type[User], *args: Any, **kwargs: Any) -> User:
        return model_class.objects.create_user(**kwargs)  # without a password: hashing is slow, few tests log in


class OrganizationFactory(DjangoModelFactory[Organization]):
    class Meta:
        model = Organization

    name = Sequence(lambda n: f"Organization {n}")
    slug = Sequence(lambda n: f"organization-{n}")


class MembershipFactory(DjangoModelFactory[Membership]):
    class Meta:
        model = Membership

    user = SubFactory(UserFactory)
    organization = SubFactory(OrganizationFactory)
    role = Role.MEMBER


class ProjectFactory(DjangoModelFactory[Project]):
    class Meta:
        model = Project

    organization = SubFactory(OrganizationFactory)
    name = Sequence(lambda n: f"Project {n}")
    slug = Sequence(lambda n: f"project-{n}")


class RetryPolicyFactory(DjangoModelFactory[RetryPolicy]):
    class Meta:
        model = RetryPolicy

    project = SubFactory(ProjectFactory)
    name = Sequence(lambda n: f"policy-{n}")


class QueueFactory(DjangoModelFactory[Queue]):
    class Meta:
        model = Queue

    project = SubFactory(ProjectFactory)
    name = Sequence(lambda n: f"queue-{n}")


class ApiTokenFactory(DjangoModelFactory[ApiToken]):
    """A token whose text is `token.text`; the row keeps only its hash."""

    class Meta:
        model = ApiToken

    kind = TokenKind.API
    user = SubFactory(UserFactory)
    organization = SubFactory(OrganizationFactory)
    name = Sequence(lambda n: f"token-{n}")
    scopes: Any = LazyFunction(lambda: ["read"])

    @classmethod
    def _create(cls, model_class: type[ApiToken], *args: Any, **kwargs: Any) -> ApiToken:
        text = kwargs.pop("text", None) or new_text()
        kwargs |= {"hash": digest(text), "hint": text[-4:]}
        token = model_class.objects.create(*args, **kwargs)
        token.text = text  # type: ignore[attr-defined]
        return token


class WorkerFactory(DjangoModelFactory[Worker]):
    class Meta:
        model = Worker

    uid = Sequence(lambda n: f"worker-{n}")


class SessionFactory(DjangoModelFactory[Session]):
    class Meta:
        model = Session

    worker = SubFactory(WorkerFactory)
    lease_seconds = 30.0
    lease_expires_at = LazyFunction(lambda: timezone.now() + timedelta(seconds=30))
    heartbeat_at = LazyFunction(timezone.now)
    started_at = LazyFunction(timezone.now)
    concurrency = 10
    hostname = "host"
    pid = 1
