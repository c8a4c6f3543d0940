"""Anthropic Messages: rules on images and documents.

Limits: the vision page of the documentation (2026); texts: public error reports from 2025-12 to 2026-09. The 10 MB are
those of the base64.
"""

from __future__ import annotations

from collections.abc import Iterator

from foreword.testing import anthropic_forms as forms
from foreword.testing.anthropic_request import AnthropicRequest
from foreword.testing.rule import Fault, Rule, fault

LONGEST_DATA = 10 * 1024 * 1024
LONGEST_SIDE = 8000
MANY_IMAGES = 20
LONGEST_SIDE_OF_MANY = 2000
SMALL_WINDOW = 200_000
MOST_MEDIA = 600
MOST_MEDIA_OF_SMALL = 100


def _image_type(request: AnthropicRequest) -> Iterator[Fault]:
    for image in request.images():
        if image.media and not image.document and image.media not in forms.IMAGE_TYPES:
            yield fault(f"{image.path}.media_type")


def _document_type(request: AnthropicRequest) -> Iterator[Fault]:
    for document in request.images():
        if document.document and document.media not in ("", "application/pdf"):
            yield fault(f"{document.path}.media_type")


def _data(request: AnthropicRequest) -> Iterator[Fault]:
    for image in request.images():
        if image.media and not image.document and not image.readable:
            yield fault(f"{image.path}.data")


def _mismatch(request: AnthropicRequest) -> Iterator[Fault]:
    for image in request.images():
        if image.media in forms.IMAGE_TYPES and image.found not in (None, image.media):
            yield fault(image.path, media=image.media, found=image.found)


def _large(request: AnthropicRequest) -> Iterator[Fault]:
    for image in request.images():
        if image.letters > LONGEST_DATA:
            yield fault(image.path, size=image.letters, limit=LONGEST_DATA)


def _side(request: AnthropicRequest) -> Iterator[Fault]:
    images = [image for image in request.images() if not image.document]
    many = len(images) > MANY_IMAGES
    limit = LONGEST_SIDE_OF_MANY if many else LONGEST_SIDE
    for image in images:
        if image.size and max(image.size) > limit:
            yield fault(f"{image.path}.data", of=" for many-image requests" if many else "", limit=limit)


def _many(request: AnthropicRequest) -> Iterator[Fault]:
    documents = [image.document for image in request.images()]
    limit = MOST_MEDIA if request.facts.window > SMALL_WINDOW else MOST_MEDIA_OF_SMALL
    if len(documents) > limit:
        count = sum(documents)
        yield fault("messages", images=len(documents) - count, documents=count, limit=limit)


MEDIA_RULES: tuple[Rule[AnthropicRequest], ...] = (
    Rule(
        code="image_type",
        text="{path}: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
        section="1.2",
        evidence="T",
        check=_image_type,
    ),
    Rule(
        code="document_type",
        text="{path}: Input should be 'application/pdf'",
        section="1.2",
        evidence="T",
        check=_document_type,
    ),
    Rule(
        code="image_data",
        text="{path}: invalid base64 data",
        section="1.2",
        evidence="I",
        check=_data,
    ),
    Rule(
        code="image_mismatch",
        text="{path}: The image was specified using the {media} media type, but the image appears to be a {found} "
        "image",
        section="1.2",
        evidence="F",
        check=_mismatch,
    ),
    Rule(
        code="image_large",
        text="{path}: image exceeds 10 MB maximum: {size} bytes > {limit} bytes",
        section="1.2",
        evidence="F",
        check=_large,
    ),
    Rule(
        code="image_side",
        text="{path}: At least one of the image dimensions exceed max allowed size{of}: {limit} pixels",
        section="8",
        evidence="D",
        check=_side,
    ),
    # 100 for windows of 200,000 tokens, 600 for all others.
    Rule(
        code="media_many",
        text="{path}: too many images and documents: {images} + {documents} > {limit}",
        section="1.2",
        evidence="D",
        check=_many,
    ),
)
