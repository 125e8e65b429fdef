# SPDX-License-Identifier: BSD-2-Clause
"""Runnable ELF programs with hostile symbol tables: names that overlap in the strings, and huge sections of sparse files."""
import os
import struct

SYMBOL_SIZE = 24
HEADER = struct.Struct("<IIQQQQIIQQ")  # section header
NAME, TYPE, FLAGS, ADDRESS, OFFSET, SIZE, LINK, INFO, _, _ = range(10)
PROGBITS, SYMTAB, DYNSYM = 1, 2, 11
EXECUTABLE = 4


def headers_of(program):
    at, = struct.unpack_from("<Q", program, 40)
    count, = struct.unpack_from("<H", program, 60)
    return [list(HEADER.unpack_from(program, at + i * HEADER.size)) for i in range(count)]


def with_headers(body, headers):
    """Appends these section headers to the bytes."""
    body += bytes(-len(body) % 16)
    struct.pack_into("<Q", body, 40, len(body))
    return body + b"".join(HEADER.pack(*header) for header in headers)


def strings_of(size):
    """Makes a name of this size without early repetitions, so that names starting inside it share no beginnings."""
    state, text = 1, bytearray(size)
    for i in range(1, size - 1):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        text[i] = ord("a") + (state >> 16) % 26
    return bytes(text)


def section(headers, kind):
    return next(header for header in headers if header[TYPE] == kind)


def with_names(program, symbols, strings_size):
    """Makes a program with a symbol table. Each symbol's name begins a byte behind the previous symbol's name."""
    headers, body = headers_of(program), bytearray(program)
    text = next(i for i, header in enumerate(headers) if header[TYPE] == PROGBITS and header[FLAGS] & EXECUTABLE and header[SIZE] > 64)
    table = section(headers, SYMTAB)
    strings = headers[table[LINK]]
    body += bytes(-len(body) % 16)
    table[OFFSET], table[SIZE], table[INFO] = len(body), (symbols + 1) * SYMBOL_SIZE, 1
    body += bytes(SYMBOL_SIZE)
    body += b"".join(struct.pack("<IBBHQQ", 1 + i % (strings_size - 2), 0x12, 0, text, headers[text][ADDRESS] + i, 1) for i in range(symbols))
    strings[OFFSET], strings[SIZE] = len(body), strings_size
    body += strings_of(strings_size)
    return bytes(with_headers(body, headers))


def write(path, data, size=0):
    """Writes a program; a size beyond the data is a hole."""
    with open(path, "wb") as file:
        file.write(data)
        if size > len(data):
            file.truncate(size)
    os.chmod(path, 0o755)


def write_sparse(path, program, which, size):
    """Writes a program with a section of this size, mostly a hole. which: "symbols", "strings", "names" or "dynamic"."""
    headers, body = headers_of(program), bytearray(program)
    names, = struct.unpack_from("<H", program, 62)
    table, dynamic = section(headers, SYMTAB), section(headers, DYNSYM)
    chosen = {"symbols": table, "strings": headers[table[LINK]], "names": headers[names], "dynamic": headers[dynamic[LINK]]}[which]
    chosen[SIZE] = size
    write(path, with_headers(body, headers), size + len(program) + (1 << 20))
