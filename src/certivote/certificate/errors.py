"""What can be wrong with a certificate."""

__all__ = ["CertificateError", "CertificateFormatError"]


class CertificateError(ValueError):
    """A certificate that is malformed, or that does not hold up."""


class CertificateFormatError(CertificateError):
    """Something that is not a certificate, or is one of another version: it cannot be checked."""
