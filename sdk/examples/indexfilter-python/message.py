"""The form of protobuf messages, as far as a plugin needs it.

https://protobuf.dev/programming-guides/encoding/ describes it. A message is
read into a dict from field number to the list of its values: int for numbers,
bytes for texts and messages within. With the protobuf package and classes made
from the crawler's .proto files this module would not be needed.
"""


def varint(n):
    """Returns the bytes of a number that is not negative."""
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    """Returns a field with a number; nothing when it is 0, as proto3 has it."""
    return varint(field << 3) + varint(n) if n else b""


def chunk(field, b):
    """Returns a field with bytes or a message, empty ones too."""
    return varint(field << 3 | 2) + varint(len(b)) + b


def read(data):
    """Returns the fields of a message. Raises ValueError when it is none."""
    fields = {}
    at = 0

    def next_varint():
        nonlocal at
        n = shift = 0
        while True:
            if at >= len(data) or shift > 63:
                raise ValueError("message is cut off")
            b = data[at]
            at += 1
            n |= (b & 0x7F) << shift
            if b < 0x80:
                return n
            shift += 7

    def next_bytes(size):
        nonlocal at
        if at + size > len(data):
            raise ValueError("message is cut off")
        at += size
        return data[at - size:at]

    while at < len(data):
        key = next_varint()
        kind = key & 7
        if kind == 0:
            value = next_varint()
        elif kind == 1:
            value = next_bytes(8)
        elif kind == 2:
            value = next_bytes(next_varint())
        elif kind == 5:
            value = next_bytes(4)
        else:
            raise ValueError(f"wire type {kind}")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def first(fields, field, default=b""):
    """Returns the last value of a field that comes once, as proto3 has it."""
    values = fields.get(field)
    return values[-1] if values else default
