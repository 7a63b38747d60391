"""What is claimed of a vote, on what evidence, and how anyone can check it."""

from .._utils.addresses import publish
from .certificate import Certificate
from .certify import certify
from .errors import CertificateError, CertificateFormatError
from .neighbours import Neighbours

__all__ = ["Certificate", "CertificateError", "CertificateFormatError", "Neighbours", "certify"]

publish(__name__)
