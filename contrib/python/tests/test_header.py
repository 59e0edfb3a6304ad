# SPDX-License-Identifier: MIT
"""What sfid/_c.py says about structs, codes and names is what the C compiler finds in the installed headers."""
import ctypes
import os
import re
import shlex
import subprocess
import tempfile
import unittest

from sfid import _c

STRUCTS = [_c.Layout, _c.WideLayout, _c.Parts, _c.WideParts, _c.Wide, _c.Field, _c.Options, _c.Status]


def facts():
    """(a line of C that prints it, what Python takes it to be) of each fact."""
    for struct in STRUCTS:
        name = struct.__name__
        yield f'printf("%zu\\n", sizeof({name}));', str(ctypes.sizeof(struct))
        for member, kind in struct._fields_:
            place = getattr(struct, member)
            place_and_size = f"{place.offset} {place.size}"
            yield f'printf("%zu %zu\\n", offsetof({name}, {member}), sizeof((({name} *)0)->{member}));', place_and_size
            if kind in (ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint32):
                signed = int(kind is ctypes.c_int64)
                yield f'printf("%d\\n", (__typeof__((({name} *)0)->{member}))-1 < 0);', str(signed)
    for code in _c.Code:
        yield f'printf("%d\\n", SFID_{code.name});', str(int(code))
    for i, name in enumerate(_c.FORMS):
        yield f'printf("%s\\n", sfid_form_name({i}));', name
    for i, name in enumerate(_c.KINDS):
        yield f'printf("%d\\n", SFID_FIELD_{name.upper()});', str(i)
    for names in _c.EXHAUSTION, _c.ON_UNKNOWN:
        for name, value in names.items():
            yield f'printf("%d\\n", SFID_{name.upper()});', str(value)
    yield 'printf("%d %d\\n", SFID_LAYOUT_FIELDS, SFID_LAYOUT_STR_LEN);', "8 64"
    yield 'printf("%d\\n", SFID_TEXT_LEN <= 40 && SFID_WIDE_TEXT_LEN <= 40);', "1"
    octets = bytes(_c.options()).hex()
    yield 'for (size_t i = 0; i < sizeof init; i++) printf("%02x", ((unsigned char *)&init)[i]); puts("");', octets


class Header(unittest.TestCase):
    def flags(self, *which):
        tool = os.environ.get("PKG_CONFIG", "pkg-config")
        return shlex.split(subprocess.check_output([tool, *which, "sfid"], text=True))

    def test_facts(self):
        lines, wanted = zip(*facts())
        with tempfile.TemporaryDirectory() as scratch:
            source, program = os.path.join(scratch, "facts.c"), os.path.join(scratch, "facts")
            with open(source, "w") as f:
                f.write("#include <sfid.h>\n#include <stddef.h>\n#include <stdio.h>\nstatic sfid_options init = SFID_OPTIONS_INIT;\n"
                        "int main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
            cc = shlex.split(os.environ.get("CC", "cc"))
            subprocess.run([*cc, "-std=gnu11", "-o", program, source, *self.flags("--cflags", "--libs")], check=True)
            got = subprocess.check_output([program], text=True).splitlines()
        for line, g, w in zip(lines, got, wanted):
            self.assertEqual(g, w, line)
        self.assertEqual(len(got), len(wanted))

    def test_no_code_is_missing(self):
        with tempfile.TemporaryDirectory() as scratch:
            source = os.path.join(scratch, "codes.c")
            with open(source, "w") as f:
                f.write("#include <sfid.h>\n#define ONE(name, value, text) @name@\nSFID_ERROR_LIST(ONE)\n")
            cc = shlex.split(os.environ.get("CC", "cc"))
            text = subprocess.check_output([*cc, "-E", "-P", *self.flags("--cflags"), source], text=True)
        self.assertEqual(re.findall(r"@(\w+)@", text.replace(" ", "")), [code.name for code in _c.Code])


if __name__ == "__main__":
    unittest.main()
