"""What is claimed of a vote, on what evidence, and how anyone can check it."""

from .certificate import Certificate, CertificateError, CertificateFormatError, certify

__all__ = ["Certificate", "CertificateError", "CertificateFormatError", "certify"]
