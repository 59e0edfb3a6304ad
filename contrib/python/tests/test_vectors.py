# SPDX-License-Identifier: MIT
"""Every vector of the installed vectors.json, both ways, and every refusal. $SFID_VECTORS names another file."""
import json
import os
import subprocess
import unittest

import sfid
from sfid import Code, Layout


def load():
    path = os.environ.get("SFID_VECTORS")
    if not path:
        tool = os.environ.get("PKG_CONFIG", "pkg-config")
        path = subprocess.check_output([tool, "--variable=vectors", "sfid"], text=True).strip()
    with open(path) as f:
        return json.load(f)


VECTORS = load()


def raw(form, text):
    return bytes.fromhex(text) if form == "bytes" else text


class Vectors(unittest.TestCase):
    def text(self, form, text, id, bits, width=0, read_only=False):
        self.assertEqual(sfid.from_text(raw(form, text), form, bits), id)
        if form == "bytes":
            self.assertEqual(id.to_bytes(bits // 8, "big").hex(), text)
            self.assertRaises(sfid.Error, sfid.to_text, id, form, bits=bits)
        elif not read_only:
            self.assertEqual(sfid.to_text(id, form, width, bits), text)

    def test_format(self):
        self.assertEqual(VECTORS["format"], 1)
        for kind in "layouts", "wide_layouts", "ids", "texts", "refused":
            self.assertGreater(len(VECTORS[kind]), 0)

    def test_layouts(self):
        for v in VECTORS["layouts"] + VECTORS["wide_layouts"]:
            with self.subTest(layout=v["name"]):
                layout = Layout(v["name"])
                self.assertEqual(str(layout), v["name"])
                self.assertEqual((layout.epoch_ms, layout.unit_ms), (v["epoch_ms"], v["unit_ms"]))
                self.assertEqual([list(f) for f in layout.fields], v["fields"])
                self.assertEqual(layout.wide, v in VECTORS["wide_layouts"])
                if not layout.wide:
                    self.assertEqual(layout.decode(layout.max_at(1 << 70)).unix_ms, v["last_ms"])
                self.assertEqual(layout.decode(layout.min_at(-1 << 70)).tick, 0)
                self.assertEqual(layout.decode(layout.max_at(v["epoch_ms"])).tick, 0)
                with self.assertRaises(sfid.Error) as caught:
                    layout.tick_at(v["epoch_ms"] - 1)
                self.assertEqual(caught.exception.code, Code.ECLOCK)

    def test_ids(self):
        for v in VECTORS["ids"]:
            with self.subTest(layout=v["layout"], id=v["id"]):
                layout, id = Layout(v["layout"]), int(v["id"])
                parts = sfid.decode(id, v["layout"])
                for name in "tick", "pid", "seq", "unix_ms", "random":
                    self.assertEqual(getattr(parts, name), int(v.get(name, 0)), name)
                if "time" in v:
                    self.assertEqual(parts.time.isoformat(timespec="milliseconds").replace("+00:00", "Z"), v["time"])
                self.assertEqual(layout.compose(parts.tick, parts.pid, parts.seq, parts.random), id)
                self.assertEqual(layout.tick_at(parts.unix_ms), parts.tick)
                # The bounds of a tick: the ID with the bits of pid, sequence and chance all clear and all set.
                free = sum((1 << f.bits) - 1 << f.shift for f in layout.fields if f.kind in ("pid", "seq", "random"))
                self.assertEqual(layout.min_at(parts.unix_ms), id & ~free)
                self.assertEqual(layout.max_at(parts.unix_ms + layout.unit_ms - 1), id | free)
                for name, value in v.get("fields", {}).items():
                    self.assertEqual(layout.split(id)[name], value)
                for form, t in v.get("texts", {}).items():
                    t = t if isinstance(t, dict) else {"text": t}
                    self.text(form, t["text"], id, 128 if layout.wide else 64, t.get("width", 0))

    def test_texts(self):
        for v in VECTORS["texts"]:
            with self.subTest(**v):
                self.text(v["form"], v["text"], int(v["id"]), v["bits"], v.get("width", 0), v.get("read_only", False))

    def refused(self, v):
        if v["call"] == "from_text":
            return sfid.from_text(raw(v["form"], v["text"]), v["form"], v["bits"])
        if v["call"] == "layout_parse":
            return Layout(v["text"])
        layout = Layout(v["layout"])
        if v["call"] == "tick_at":
            return layout.tick_at(v["unix_ms"])
        if v["call"] == "compose":
            return layout.compose(int(v["tick"]), v["pid"], v["seq"], v.get("random", 0))
        self.assertEqual(v["call"], "parse")
        return layout.decode(int(v["id"]))

    def test_refused(self):
        for v in VECTORS["refused"]:
            with self.subTest(**v):
                with self.assertRaises(sfid.Error) as caught:
                    self.refused(v)
                self.assertEqual(caught.exception.code, Code[v["error"]])
                self.assertEqual(caught.exception.at, v.get("at"))


if __name__ == "__main__":
    unittest.main()
