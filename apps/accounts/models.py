"""Whose it is: users, organizations, memberships, projects, tokens, idempotency keys."""

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower
from uuid_utils.compat import uuid7

SLUG = r"^[a-z0-9][a-z0-9._-]{0,127}\Z"
slug_rule = RegexValidator(SLUG, "Use a-z, 0-9, dot, dash and underscore; at most 128 characters.")


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **extra: object) -> "User":
        """Make a user; the address is kept in lower case, its only form here."""
        user = self.model(email=email.strip().lower(), **extra)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **extra: object) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **extra)

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=(username or "").lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person; logs in by e-mail address."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    email = models.EmailField(max_length=254)
    name = models.CharField(max_length=128, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_is_unique")]

    def __str__(self) -> str:
        return self.email


class Standing[M: models.Model](models.Manager[M]):
    """Rows that nobody has deleted: one that is gone for its callers stays until what hangs on it has gone too."""

    def get_queryset(self) -> models.QuerySet[M]:
        return super().get_queryset().filter(deleted_at=None)


class Organization(models.Model):
    """A tenant."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=128)
    slug = models.CharField(max_length=128, validators=[slug_rule])
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, editable=False)
    members = models.ManyToManyField(User, through="Membership", related_name="organizations")

    objects = Standing["Organization"]()
    every = models.Manager["Organization"]()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slug"], condition=models.Q(deleted_at=None), name="organization_slug_is_unique"
            )
        ]

    def __str__(self) -> str:
        return self.slug


class Role(models.TextChoices):
    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def level(self) -> int:
        """Height of the role: a higher one may do all that a lower one may."""
        return list(Role).index(self)


class Membership(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, models.DB_CASCADE, related_name="memberships")
    organization = models.ForeignKey(Organization, models.DB_CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "organization"], name="membership_is_unique"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.role} of {self.organization_id}"


class Project(models.Model):
    """A workspace of one organization."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    organization = models.ForeignKey(Organization, models.DB_CASCADE, related_name="projects")
    name = models.CharField(max_length=128)
    slug = models.CharField(max_length=128, validators=[slug_rule])
    hide_payloads_below = models.CharField(
        max_length=16, choices=Role.choices, default=Role.VIEWER
    )  # the least role that sees payloads and results
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, editable=False)

    objects = Standing["Project"]()
    every = models.Manager["Project"]()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "slug"],
                condition=models.Q(deleted_at=None),
                name="project_slug_is_unique_in_its_organization",
            )
        ]

    def __str__(self) -> str:
        return self.slug


class TokenKind(models.TextChoices):
    API = "api"  # made on purpose, with scopes, for one organization
    LOGIN = "login"  # what POST /auth/login answers: its user's rights, no organization


class ApiToken(models.Model):
    """A bearer token. Only its SHA-256 is kept; the text is shown once."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(max_length=8, choices=TokenKind.choices, default=TokenKind.API)
    user = models.ForeignKey(User, models.DB_CASCADE, related_name="tokens")  # whose rights bound it
    organization = models.ForeignKey(Organization, models.DB_CASCADE, null=True, related_name="tokens")
    project = models.ForeignKey(Project, models.DB_CASCADE, null=True, blank=True, related_name="tokens")
    name = models.CharField(max_length=128, blank=True)
    scopes = ArrayField(models.CharField(max_length=16), default=list)
    hash = models.BinaryField(max_length=32, unique=True, editable=False)
    hint = models.CharField(max_length=16, editable=False)  # the last characters, to tell tokens apart
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind="login", organization=None) | models.Q(kind="api", organization__isnull=False),
                name="token_of_kind_api_has_an_organization",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name or self.kind} …{self.hint}"


class Idempotency(models.Model):
    """The first answer to a request with an Idempotency-Key, kept so that a repeat gets the same.

    `status` NULL means the first request is still running. Answers are rebuilt from `ids`.
    """

    pk = models.CompositePrimaryKey("scope_id", "endpoint", "key")
    scope_id = models.UUIDField()  # the queue, project or organization the request acts in
    endpoint = models.CharField(max_length=64)
    key = models.CharField(max_length=255)
    request_hash = models.BinaryField(max_length=32)
    status = models.SmallIntegerField(null=True)
    ids = ArrayField(models.UUIDField(), null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "idempotency keys"
        indexes = [models.Index(fields=["created_at"], name="idempotency_age")]  # the janitor

    def __str__(self) -> str:
        return f"{self.endpoint} {self.key}"
