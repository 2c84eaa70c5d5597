"""Headless Chromium, for tests: a page opened, its DOM afterwards, and what a watching script in a copy of it saw."""

import html
import json
import os
import re
import shutil
import subprocess

import pytest

SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--v=0",
)
# Runs before and after the page's own script, in a copy whose policy lets it.
WATCH = """
window.told = {errors: [], blocked: [], requests: []};
addEventListener("error", (event) => told.errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => told.errors.push(String(event.reason)));
document.addEventListener("securitypolicyviolation", (event) => told.blocked.push(event.blockedURI || "inline"));
const complain = console.error;
console.error = (...words) => { told.errors.push(words.join(" ")); complain(...words); };
"""
REPORT = """
addEventListener("load", () => setTimeout(() => {
  told.requests = performance.getEntriesByType("resource").map((entry) => entry.name);
  const answer = document.createElement("output");
  answer.id = "told";
  answer.textContent = JSON.stringify(told);
  document.body.append(answer);
}, 200));
"""


def browser():
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        absent = pytest.fail if os.environ.get("CI") else pytest.skip  # a stranger's machine may have no browser
        absent("no chromium on PATH, wanted Debian's package chromium: apt-get install chromium")
    return found


def opened(page, folder):
    """(DOM after scripts ran, what Chromium wrote to stderr)."""
    command = [
        browser(),
        *SWITCHES,
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=3000",
        "--dump-dom",
    ]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, done.stderr


def console(stderr):
    return [line for line in stderr.splitlines() if "CONSOLE" in line]


def watched(report, folder, action=""):
    """What a copy of the page tells when `action` was done in it."""
    page = report.read_text(encoding="utf-8")
    page = re.sub(r"script-src 'sha256-[^']+'", "script-src 'unsafe-inline'", page, count=1)
    page = page.replace("<style>", f"<script>{WATCH}</script><style>", 1)
    page = page.replace("</body>", f"<script>{action}{REPORT}</script></body>", 1)
    copy = folder / "copy.html"
    copy.write_text(page, encoding="utf-8")
    dom, _ = opened(copy, folder)
    return json.loads(html.unescape(re.search(r'<output id="told">(.*?)</output>', dom, flags=re.DOTALL).group(1)))
