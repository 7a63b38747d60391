"""What can be wrong with a certificate."""

__all__ = ["CertificateError", "CertificateFormatError"]


class CertificateError(ValueError):
    """A certificate that is malformed, or that does not hold up.

    Examples
    --------
    >>> from certivote import CertificateError, certify
    >>> certificate = certify([1, 0] * 50, [1, 0] * 50, bound="heldout")
    >>> try:
    ...     certificate.verify([1, 1] * 50, [1, 0] * 50)
    ... except CertificateError:
    ...     print("These are not the votes that were certified.")
    These are not the votes that were certified.
    """


class CertificateFormatError(CertificateError):
    """Something that is not a certificate, or is one of another version: it cannot be checked.

    Examples
    --------
    >>> import pathlib
    >>> from certivote import Certificate, CertificateFormatError
    >>> _ = pathlib.Path("other.json").write_text("{}")
    >>> try:
    ...     Certificate.from_json("other.json")
    ... except CertificateFormatError:
    ...     print("This is no certificate.")
    This is no certificate.
    """
