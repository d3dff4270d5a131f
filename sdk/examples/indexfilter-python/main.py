"""An example of a plugin in another language than Go: an indexing filter that
counts the words of a page and says how long it takes to read them.

It needs Python 3.8 and the grpcio package, nothing else.
"""

import os
import sys

import message
import plugin


class Filter:
    """Adds the fields "words" and "reading_minutes"."""

    def __init__(self, settings):
        self.speed = whole(settings, "words_per_minute", 200, 1)
        self.drop_below = whole(settings, "drop_below", 0, 0)
        unknown = set(settings) - {"words_per_minute", "drop_below"}
        if unknown:
            raise plugin.Invalid(f"unknown setting {sorted(unknown)[0]}")

    def patch(self, document):
        """Returns the patch for one crawler.indexingfilter.v1.Input."""
        parse = message.read(message.first(message.read(document), 3))
        text = message.first(parse, 4).decode("utf-8", "replace")
        words = len(text.split())
        if words < self.drop_below:
            return message.chunk(4, f"fewer than {self.drop_below} words".encode())
        minutes = -(-words // self.speed)
        return field(2, "words", words) + field(2, "reading_minutes", minutes)


def whole(settings, name, default, low):
    n = settings.get(name, default)
    if isinstance(n, bool) or not isinstance(n, int) or n < low:
        raise plugin.Invalid(f"{name}: want a whole number of at least {low}")
    return n


def field(number, name, value):
    """Returns a crawler.model.v1.Values with one value."""
    return message.chunk(number, message.chunk(1, name.encode()) + message.chunk(2, str(value).encode()))


def filter_documents(built, request):
    """FilterDocuments: one patch for each input, in the order of the request.

    A document that can't be read fails alone, as an ItemError.
    """
    answer = b""
    for i, document in enumerate(message.read(request).get(1, [])):
        try:
            patch, failure = built.patch(document), b""
        except ValueError as e:
            invalid = 4
            patch = b""
            failure = message.number(1, i) + message.number(2, invalid) + message.chunk(3, str(e).encode())
        answer += message.chunk(1, patch)
        if failure:
            answer += message.chunk(2, failure)
    return answer


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "plugin.hcl"), "rb") as f:
        manifest = f.read()
    return plugin.Plugin(manifest, Filter, {
        "crawler.indexingfilter.v1.IndexingFilterService/FilterDocuments": filter_documents,
    }).serve()


if __name__ == "__main__":
    sys.exit(main())
