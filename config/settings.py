"""Every setting, in one flat file: the environment decides, development is the default.

Rows that explain each own setting stand in docs/settings.md; tests/architecture/test_settings.py demands them.
"""

import sys
from pathlib import Path

import environ

from config import document, embedded, logs, look, mail, pooling

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
env.read_env(BASE_DIR / ".env")

# Where it runs. In production the system checks (apps/audit/checks.py) refuse every default that is unsafe there.
ENVIRONMENT = env.str("ENVIRONMENT", default="development")
PRODUCTION = ENVIRONMENT == "production"
DEBUG = env.bool("DEBUG", default=not PRODUCTION)

# Public on purpose, so that a fresh clone runs at once; refused in production.
INSECURE_SECRET_KEY = "insecure-development-key-that-every-clone-of-fencepost-shares"  # noqa: S105
SECRET_KEY = env.str("SECRET_KEY", default=INSECURE_SECRET_KEY)
# The keys before it, while what they signed is still to be good; new things are signed with the one above.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
# Other sites whose pages may post here and open sockets, with scheme: https://ops.example.com
ALLOWED_ORIGINS = env.list("ALLOWED_ORIGINS", default=[])
CSRF_TRUSTED_ORIGINS = ALLOWED_ORIGINS
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")  # what /metrics is asked with; empty answers nobody

INSTALLED_APPS = [
    # First, so that its runserver serves sockets too; only there, for its import costs every command a second.
    *(["daphne"] if "runserver" in sys.argv else []),
    "unfold.apps.BasicAppConfig",  # before the admin, whose templates it replaces
    "unfold.contrib.filters",
    "config.apps.ConsoleConfig",  # the admin, on a site of our own
    "apps.accounts",  # before auth: its createsuperuser and changepassword write down what they do
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_filters",
    "axes",
    "apps.audit",
    "apps.queues",
    "apps.workers",
    "apps.jobs",
    "apps.runtime",
    "apps.events",
    "apps.dashboard",
    "apps.bench",
    "apps.demo",
    "channels",  # last: it has a runworker too, and ours is meant
]

MIDDLEWARE = [
    "config.middleware.request_id",
    "config.bodies.bodies",  # before anything that reads a form
    "config.probes.probes",  # before anything that looks at Host or scheme
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "config.middleware.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "allauth.usersessions.middleware.UserSessionsMiddleware",
    "axes.middleware.AxesMiddleware",  # last, as its documents ask
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.csp",
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# --- Database ---

# Unset: the PostgreSQL that is built in (config/embedded.py) serves, and importing this file does not start it.
DATABASE_URL = env.str("DATABASE_URL", default="")
# Connections a web process keeps; 0 is none. Commands never pool: executors are forked, and a pool's threads are not.
DB_POOL_SIZE = env.int("DB_POOL_SIZE", default=10)
# Executions after which a statement is prepared; empty: never, for poolers that know no prepared statements.
DB_PREPARE_THRESHOLD = int(threshold) if (threshold := env.str("DB_PREPARE_THRESHOLD", default="5")) else None
# Seconds a connection without a pool is kept between requests.
CONN_MAX_AGE = env.int("CONN_MAX_AGE", default=0)
# What pg_stat_activity calls our connections.
DB_APPLICATION_NAME = env.str("DB_APPLICATION_NAME", default="fencepost")

SERVES_WEB = not {"config.wsgi", "config.asgi"}.isdisjoint(sys.modules)
POOLED = SERVES_WEB and DB_POOL_SIZE > 0
_database = env.db_url_config(DATABASE_URL or embedded.url())
DATABASES = {
    "default": {
        **_database,
        "CONN_MAX_AGE": 0 if POOLED else CONN_MAX_AGE,
        "CONN_HEALTH_CHECKS": True,
        # A cursor WITH HOLD does not survive a transaction pooler; long reads here page by key instead.
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": {
            # A dead peer is noticed in about six seconds, not after the two hours of the system's default.
            "connect_timeout": 2,
            "keepalives_idle": 5,
            "keepalives_interval": 1,
            "keepalives_count": 3,
            "tcp_user_timeout": 5000,
            "application_name": DB_APPLICATION_NAME,
            "prepare_threshold": DB_PREPARE_THRESHOLD,
            **({"pool": pooling.options(DB_POOL_SIZE)} if POOLED else {}),
            **_database.get("OPTIONS", {}),
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Who may come in ---

AUTH_USER_MODEL = "accounts.User"
SILENCED_SYSTEM_CHECKS = ["auth.W004"]  # an address is unique by a constraint on lower(email)
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 8}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
# Proxies that stand in front and may be believed about scheme and client address.
TRUSTED_PROXIES = env.int("TRUSTED_PROXIES", default=0)
# none, optional or mandatory: must a new address be confirmed by mail.
EMAIL_VERIFICATION = env.str("EMAIL_VERIFICATION", default="none")

ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = EMAIL_VERIFICATION
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = True
ALLAUTH_TRUSTED_PROXY_COUNT = TRUSTED_PROXIES
ACCOUNT_ADAPTER = "config.doors.Door"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_FORMS = {"authenticate": "config.doors.Code", "reauthenticate": "config.doors.CodeAgain"}
# Whether staff come into the admin with a second factor only.
STAFF_TWO_FACTOR = env.bool("STAFF_TWO_FACTOR", default=PRODUCTION)

AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # it ends after the last failure, however often it is tried
AXES_LOCKOUT_CALLABLE = "config.doors.locked"
AXES_USERNAME_CALLABLE = "config.middleware.login_name"
AXES_CLIENT_IP_CALLABLE = "apps.accounts.api.authentication.address_of"  # as TRUSTED_PROXIES says

# --- What browsers are told ---

# TLS stands in front: cookies only over https, plain http redirected, HSTS sent.
HTTPS = env.bool("HTTPS", default=PRODUCTION)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
# Browsers take a cookie of such a name only over https, for this host alone: no neighbour under one domain plants one.
_HOST = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_HOST}sessionid", f"{_HOST}csrftoken"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"  # but for the admin, whose popups are frames of its own (config/console.py)
SECURE_CSP = look.CONTENT  # what a page may load, and from where

STATIC_URL, STATIC_ROOT = "static/", BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG
_PLAIN, _PACKED = "django.contrib.staticfiles.storage.Static", "whitenoise.storage.CompressedManifestStatic"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": f"{_PLAIN if DEBUG else _PACKED}FilesStorage"},
}

LANGUAGE_CODE, TIME_ZONE = "en-gb", "UTC"
USE_I18N, USE_TZ = False, True
FORMAT_MODULE_PATH = ["config.formats"]  # times that sort and line up

# How mail leaves the house: smtp+tls://user:password@host:587, or consolemail:// to print it.
EMAIL_URL = env.email_url("EMAIL_URL", default="consolemail://")
MAILERS = {"default": {"BACKEND": EMAIL_URL["EMAIL_BACKEND"], "OPTIONS": mail.options(EMAIL_URL)}}
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="fencepost@localhost")

REST_FRAMEWORK = {
    # Everything else about an endpoint stands in apps/accounts/api/endpoint.py.
    "DEFAULT_SCHEMA_CLASS": "apps.accounts.api.schema.Schema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["apps.accounts.api.parsing.StrictJSON"],
    "EXCEPTION_HANDLER": "config.api.translate",
    "URL_FORMAT_OVERRIDE": None,
    "NUM_PROXIES": TRUSTED_PROXIES,
}
SPECTACULAR_SETTINGS = document.SPECTACULAR

UNFOLD = look.UNFOLD  # the admin's colours, font, mark and navigation

# --- Logs ---

# The least level that is written.
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO").upper()
# console for people, json for machines.
LOG_FORMAT = env.str("LOG_FORMAT", default="console")
LOGGING = logs.configure(level=LOG_LEVEL, form=LOG_FORMAT)

# --- Fencepost's own: each a row in docs/settings.md. A flag of runworker --poll-interval is POLL_INTERVAL here. ---

# Workers
QUEUES = env.list("QUEUES", default=[])  # org/project/queue,…: what a worker serves; empty is every queue
TYPES = env.list("TYPES", default=[])  # job types a worker takes; empty is every type it has a handler for
WORKER_NAME = env.str("WORKER_NAME", default="")  # the worker's stable name; empty makes one from host and folder
CODE_VERSION = env.str("CODE_VERSION", default="")  # shown with the worker; empty is pyproject.toml's
CAPABILITIES = env.str("CAPABILITIES", default="")  # a JSON object: what this machine can do
CAPABILITIES_HOOK = env.str("CAPABILITIES_HOOK", default="")  # dotted path of a function that answers more of it
CONCURRENCY = env.int("CONCURRENCY", default=10)  # jobs a worker runs at once
PROCESSES = env.int("PROCESSES", default=2)  # executors; 0 runs handlers inside the worker itself
JOBS_PER_PROCESS = env.int("JOBS_PER_PROCESS", default=0)  # after so many an executor is replaced; 0 is never
MEMORY_PER_PROCESS = env.int("MEMORY_PER_PROCESS", default=0)  # MiB after which an executor is replaced; 0 is never
POOLS = env.str("POOLS", default="")  # name:slots=queue,queue;name:slots=type:TYPE: slots kept for some work
LEASE_SECONDS = env.float("LEASE_SECONDS", default=30.0)  # how long a silent session keeps its jobs
HEARTBEAT_SECONDS = env.float("HEARTBEAT_SECONDS", default=LEASE_SECONDS / 3)  # how often a session speaks
POLL_INTERVAL = env.float("POLL_INTERVAL", default=1.0)  # seconds between looks when no wake-up came
GRACE_SECONDS = env.float("GRACE_SECONDS", default=30.0)  # what a stopping worker leaves its jobs to finish
CANCEL_GRACE_SECONDS = env.float("CANCEL_GRACE_SECONDS", default=5.0)  # until a cancelled handler is ended by force
DEADLINE_GRACE_SECONDS = env.float("DEADLINE_GRACE_SECONDS", default=5.0)  # past a deadline, before the reaper acts
NO_SCHEDULER = env.bool("NO_SCHEDULER", default=False)  # keep the scheduler's loops out of this worker
POLL_ONLY = env.bool("POLL_ONLY", default=False)  # do not LISTEN: for transaction poolers
HEALTH_FILE = env.str("HEALTH_FILE", default="")  # a worker writes it each second while it is live
HEALTH_PORT = env.int("HEALTH_PORT", default=0)  # where a worker answers GET /livez and /readyz; 0 is nowhere
HEALTH_SECONDS = env.float("HEALTH_SECONDS", default=30.0)  # without progress, until a worker counts as stuck
CRON_GRACE_SECONDS = env.float("CRON_GRACE_SECONDS", default=300.0)  # how late a tick of a schedule may still fire
BURST = env.bool("BURST", default=False)  # end when the queues are empty
JOB_RETRY_INTERVALS = env.list("JOB_RETRY_INTERVALS", cast=int, default=[])  # delays of the default policy, seconds

# What fails
FAILURE_WINDOW_HOURS = env.int("FAILURE_WINDOW_HOURS", default=24)  # how far back a failure summary looks, 1 to 168
LLM_API_KEY = env.str("LLM_API_KEY", default="")  # of whoever writes the prose of failure summaries; empty is nobody
LLM_MODEL = env.str("LLM_MODEL", default="")  # the model that is asked; must be set where the key is
LLM_URL = env.str("LLM_URL", default="https://api.openai.com/v1")  # before /chat/completions
LLM_TIMEOUT_SECONDS = env.float("LLM_TIMEOUT_SECONDS", default=20.0)  # for an answer, from first to last byte
LLM_CALLS_PER_HOUR = env.int("LLM_CALLS_PER_HOUR", default=60)  # over all queues; of one queue there is one at most

# Limits of what is taken in
PAYLOAD_MAX_BYTES = env.int("PAYLOAD_MAX_BYTES", default=262_144)  # a payload or a result
BODY_MAX_BYTES = env.int("BODY_MAX_BYTES", default=8_388_608)  # a request's body
JSON_MAX_DEPTH = env.int("JSON_MAX_DEPTH", default=64)  # how deep JSON may nest
BATCH_MAX = env.int("BATCH_MAX", default=1000)  # jobs in one call
DEPENDENCIES_MAX = env.int("DEPENDENCIES_MAX", default=1000)  # parents of one job
HTTP_ALLOW_PRIVATE = env.list("HTTP_ALLOW_PRIVATE", default=[])  # hosts http.request may reach although private
RATE_PER_MINUTE = env.int("RATE_PER_MINUTE", default=60_000)  # requests of one token, in one process; 0 is no limit
AUTH_RATE_PER_MINUTE = env.int("AUTH_RATE_PER_MINUTE", default=60)  # of one address to /auth; 0 is no limit
TOKEN_DAYS = env.int("TOKEN_DAYS", default=30)  # how long a login token lives

# How long things are kept
IDEMPOTENCY_HOURS = env.int("IDEMPOTENCY_HOURS", default=24)  # Idempotency-Keys
RETENTION_EVENTS_DAYS = env.int("RETENTION_EVENTS_DAYS", default=7)  # events and job logs
RETENTION_JOBS_DAYS = env.int("RETENTION_JOBS_DAYS", default=90)  # finished jobs and their ledger
RETENTION_DEAD_LETTER_DAYS = env.int("RETENTION_DEAD_LETTER_DAYS", default=30)  # dead letters, then discarded
WORKSPACE_DIR = BASE_DIR / env.str("WORKSPACE_DIR", default="var/workspaces")  # folders that handlers work in
RESULTS_DIR = BASE_DIR / env.str("RESULTS_DIR", default="var/results")  # files that handlers save

DATA_UPLOAD_MAX_MEMORY_SIZE = BODY_MAX_BYTES
