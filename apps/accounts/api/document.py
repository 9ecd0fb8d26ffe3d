"""The OpenAPI document, and two ways to read it."""

from django.utils.csp import CSP
from django.utils.decorators import method_decorator
from django.views.decorators.csp import csp_override
from drf_spectacular.views import SpectacularAPIView, SpectacularRedocView, SpectacularSwaggerSplitView


class Document(SpectacularAPIView):
    """The OpenAPI document of this API."""

    authentication_classes = ()
    permission_classes = ()
    schema = None


# Both set styles from their scripts, and Redoc searches in a worker made from a blob.
CSP_OF_DOCS: dict[str, list[str]] = {
    "default-src": [CSP.SELF],
    "style-src": [CSP.SELF, CSP.UNSAFE_INLINE],
    "img-src": [CSP.SELF, "data:"],
    "worker-src": ["blob:"],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
}


@method_decorator(csp_override(CSP_OF_DOCS), name="dispatch")
class Swagger(SpectacularSwaggerSplitView):
    authentication_classes = ()
    permission_classes = ()
    url_name = "schema"


@method_decorator(csp_override(CSP_OF_DOCS), name="dispatch")
class Redoc(SpectacularRedocView):
    authentication_classes = ()
    permission_classes = ()
    url_name = "schema"
    template_name = "api/redoc.html"  # the package's own asks strangers for fonts and has inline scripts
