"""`zerograph report`: one page that shows a plan.

Where Chromium is found, the page is opened in it.
"""

import html
import json
import os
import re
import shutil
import subprocess
import unittest

from support import Case, GPT, GPT_DATA, main

COMPILE = ["compile", GPT, "-o", "x.zgplan", "--micro-batch", "4", "--dim",
           "seq=64", "--ranks", "2", "--zero", "3"]
CHROMIUM = next(filter(None, map(shutil.which, (
    "chromium", "chromium-browser", "google-chrome"))), None)

# Says in the page what only a script can see: the colors that each canvas has,
# and what stands where after the page was used.
PROBE = """<script>
setTimeout(() => {
  const page = document.getElementById("page");
  const colors = [...document.querySelectorAll("canvas")].map((canvas) => {
    const {data} = canvas.getContext("2d")
        .getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  page.dataset.colors = JSON.stringify(colors);
  const live = document.getElementById("live").textContent;
  const chart = document.querySelector("canvas");
  for (const type of ["pointermove", "pointerdown", "pointerup"]) {
    chart.dispatchEvent(new PointerEvent(type, {clientX: 200, clientY: 300}));
  }
  page.dataset.peak = live;
  page.dataset.hint = document.getElementById("hint").textContent;
  page.dataset.moment = document.getElementById("live").textContent;
  const folded = document.querySelector("tr.folded");
  folded.click();
  page.dataset.parts = document.querySelectorAll("td.part").length;
}, 1000);
</script>"""


class Report(Case):

    def data(self, name="x.html"):
        page = self.text(name)
        return json.loads(re.search(r'id="data">(.*?)</script>', page)[1])

    def test_numbers_are_those_of_inspect_and_simulate(self):
        self.succeeds(*COMPILE)
        said = self.succeeds("report", "x.zgplan", "--machine", "x86-server",
                             "-o", "x.html").stdout
        self.assertRegex(said, r"^x\.html: [0-9.]+ KiB; open it in a browser$")
        data, inspected = self.data(), self.inspect("x.zgplan")
        for key in ("memory", "traffic", "costs", "waste", "hash"):
            self.assertEqual(data["plan"][key], inspected[key])
        self.assertEqual(data["plan"]["prediction"], json.loads(self.succeeds(
            "simulate", "x.zgplan", "--machine", "x86-server", "--json")
            .stdout))
        columns = data["columns"]
        steps = columns["programs"][0]["steps"]
        self.assertEqual(len(steps["name"]), len(inspected["steps"]))
        self.assertEqual(
            [columns["strings"][name] for name in steps["name"]],
            [step["name"] for step in inspected["steps"]])
        self.assertEqual(sum(row["bytes"] for row in columns["exchanges"]),
                         inspected["traffic"]["planned"])

    def test_shows_a_run(self):
        self.succeeds(*COMPILE)
        self.succeeds("train", "x.zgplan", "--data", GPT_DATA, "--steps", "5",
                      "--init-missing", "normal:0.02", "--trace", "t.json",
                      "--log", "l.jsonl")
        self.succeeds("report", "x.zgplan", "--trace", "t.json", "--log",
                      "l.jsonl", "-o", "x.html")
        data = self.data()
        self.assertEqual(data["log"]["step"], [0, 1, 2, 3, 4])
        measured = data["columns"]["programs"][0]["measured"]
        self.assertGreater(sum(measured["lasts"]), 0)
        self.assertEqual(min(measured["begin"]), 0)

    def test_errors(self):
        self.succeeds(*COMPILE)
        self.put("t.json", "{}")
        self.put("l.jsonl", "{}")
        self.put("empty", "\n")
        for options, parts in (
                (["--trace", "t.json"], ["t.json: it is no trace"]),
                (["--log", "l.jsonl"], ["l.jsonl: line 1: expected one"]),
                (["--log", "none"], ["none: cannot be read"]),
                (["--log", "."], [".: cannot be read"]),
                (["--log", "empty"], ["empty: the log has no step"]),
                (["--against", GPT], ["expected a plan"]),
                (["--machine", "h100-sxm"], ["x.zgplan: the plan is for host"]),
                (["--nodes", "2"], ["--nodes", "--machine"])):
            self.refused("report", "x.zgplan", "-o", "x.html", *options,
                         parts=parts)
            self.assertFalse(os.path.exists(self.path("x.html")))
        self.refused("report", "x.zgplan", "-o", "x.zgplan",
                     parts=["--output would write over x.zgplan"])
        self.refused("report", "x.zgplan", "-o", "none/x.html",
                     parts=["there is no folder none"])

    def dom(self):
        """Opens the page; returns what Chromium makes of it."""
        self.put("probed.html", self.text("x.html").replace(
            "</body>", PROBE + "</body>"))
        return subprocess.run(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage",
             "--virtual-time-budget=5000", "--window-size=1200,900",
             "--host-resolver-rules=MAP * ~NOTFOUND",
             f"--user-data-dir={self.path('profile')}", "--dump-dom",
             f"file://{self.path('probed.html')}"],
            capture_output=True, text=True, timeout=120, check=True).stdout

    @unittest.skipIf(not CHROMIUM, "there is no Chromium")
    def test_in_a_browser(self):
        self.succeeds(*COMPILE)
        self.succeeds("train", "x.zgplan", "--data", GPT_DATA, "--steps", "5",
                      "--init-missing", "normal:0.02", "--trace", "t.json",
                      "--log", "l.jsonl")
        self.succeeds("compile", GPT, "-o", "y.zgplan", "--micro-batch", "4",
                      "--dim", "seq=64", "--ranks", "2", "--zero", "1")
        self.succeeds("report", "x.zgplan", "--machine", "x86-server",
                      "--trace", "t.json", "--log", "l.jsonl", "--against",
                      "y.zgplan", "-o", "x.html")
        dom = self.dom()
        page = re.search(r'<main id="page"([^>]*)>', dom)[1]
        found = {key: html.unescape(value) for key, value in
                 re.findall(r'data-([a-z]+)="([^"]*)"', page)}
        self.assertNotIn("could not be drawn", re.sub(
            r"<script>.*?</script>", "", dom, flags=re.S))
        self.assertEqual(found["complete"], "yes")
        # Memory by class, by address; lanes; roof; loss, rate, time, and what
        # else the log has.
        colors = json.loads(found["colors"])
        self.assertGreaterEqual(len(colors), 7)
        self.assertGreater(min(colors), 3)
        live = self.inspect("x.zgplan")["memory"]["arenas"][0]["programs"][0]
        self.assertEqual(found["peak"], sized(live["live"]))
        self.assertNotEqual(found["moment"], found["peak"])
        self.assertRegex(found["hint"], r"^step \d+, .*\nin use: ")
        self.assertGreater(int(found["parts"]), 1)
        for title in ("Memory", "Time", "What ranks exchange",
                      "What it computes and moves", "Predicted and measured",
                      "The run", "Beside another plan", "Findings",
                      "The plan"):
            self.assertIn(f"<h2>{title}</h2>", dom)


def sized(count):
    """As the page writes bytes: 13.6 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{float(f'{count:.3g}'):g} {unit}"
        count /= 1024


if __name__ == "__main__":
    main()
