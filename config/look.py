"""How the admin looks: the pages' own colours (static/fencepost/fencepost.css), font and mark, and its navigation;
and what any page may load.
"""

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.csp import CSP

CONTENT = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF, CSP.NONCE],
    "style-src": [CSP.SELF, CSP.NONCE],
    "img-src": [CSP.SELF, "data:"],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}

UNFOLD = {
    "SITE_TITLE": "Fencepost",
    "SITE_HEADER": "Fencepost",
    "SITE_SUBHEADER": "Administration",
    "SITE_URL": "/",
    "SITE_ICON": lambda request: static("fencepost/mark.svg"),
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("fencepost/mark.svg")},
    ],
    "ENVIRONMENT": "config.console.environment",
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "7px",
    "STYLES": [lambda request: static("fencepost/admin.css")],
    "COLORS": {
        "primary": {
            "50": "oklch(97% .014 262)",
            "100": "oklch(93.2% .032 262)",
            "200": "oklch(88.2% .059 262)",
            "300": "oklch(81% .1 260)",
            "400": "oklch(76% .125 258)",
            "500": "oklch(68% .16 259)",
            "600": "oklch(52.5% .205 262.5)",
            "700": "oklch(46.5% .2 263)",
            "800": "oklch(42.4% .17 264)",
            "900": "oklch(37.9% .13 265)",
            "950": "oklch(28.2% .091 267)",
        },
    },
    "SIDEBAR": {
        "show_search": True,
        "show_all_applications": False,
        "navigation": [
            {
                "title": "Operate",
                "items": [
                    {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{model}_changelist")}
                    for title, icon, model in (
                        ("Queues", "stacks", "queues_queue"),
                        ("Jobs", "deployed_code", "jobs_job"),
                        ("Attempts", "history", "jobs_attempt"),
                        ("Schedules", "schedule", "jobs_schedule"),
                        ("Workers", "memory", "workers_worker"),
                        ("Sessions", "monitor_heart", "workers_session"),
                        ("Reservations", "link", "workers_reservation"),
                        ("Retry policies", "replay", "queues_retrypolicy"),
                    )
                ],
            },
            {
                "title": "Access",
                "separator": True,
                "items": [
                    {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{model}_changelist")}
                    for title, icon, model in (
                        ("Organizations", "domain", "accounts_organization"),
                        ("Projects", "folder", "accounts_project"),
                        ("Members", "group", "accounts_membership"),
                        ("Users", "person", "accounts_user"),
                        ("Tokens", "key", "accounts_apitoken"),
                        ("Second factors", "security_key", "mfa_authenticator"),
                        ("Locked out", "lock_clock", "axes_accessattempt"),
                        ("Audit trail", "fact_check", "audit_entry"),
                    )
                ],
            },
        ],
    },
}
