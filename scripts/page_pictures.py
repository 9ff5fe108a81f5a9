#!/usr/bin/env python3
"""scripts/page_pictures.py PAGE PREFIX [TITLE...]: the charts of a report or lab page as SVG files, for docs.

Opens PAGE in headless Chromium, takes its charts (all, or those with the given titles) as they are drawn there, and writes
PREFIX-1.svg, PREFIX-2.svg and so on, each with its title and its key. They follow the reader's light or dark mode.
"""

import html
import pathlib
import re
import shutil
import subprocess
import sys

TITLE = 22  # above the key
ROW = 18  # of the key, above a chart


def drawn(page):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        sys.exit("page_pictures: there is no Chromium here; install the package chromium.")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,1400",
               "--virtual-time-budget=5000", "--dump-dom", page.resolve().as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def style_of(document):
    """The page's colours and what it says of the insides of a chart."""
    sheet = "\n".join(re.findall(r"<style[^>]*>(.*?)</style>", document, re.S))
    roots = re.findall(r"^(?:@media screen and \(prefers-color-scheme: dark\) \{\s*)?:root \{.*?\}(?:\s*\})?", sheet, re.S | re.M)
    colours = [re.sub(r"@media screen and ", "@media ", root) if root.startswith("@") else
               root.split("@media")[0] for root in roots]
    inside = [rule for rule in re.findall(r"^[^\n{}@]+\{[^{}]*\}", sheet, re.M)
              if re.match(r"\.(grid|axis|curve|dot|region|hatch|span)\b|text\.label|\.chart text", rule)]
    return "\n".join(colours + [rule.replace(".chart text", "text") for rule in inside])


def key_of(figure, width):
    """Curves with their names, in rows, and how high it is with the title. Where each has its prediction, that is said once."""
    keys = re.findall(r'<span class="key ?([a-z]*)[^"]*" style="--c: ([^"]+)"><i></i>(.*?)(?:<b>|</span>)', figure)
    keys = [(kind, colour, html.unescape(re.sub(r"<[^>]+>", "", name)).strip()) for kind, colour, name in keys]
    keys = [key for key in keys if key[0] != "sum"]  # a number of the page, which no curve shows
    if any(name == "predicted" for _, _, name in keys):
        keys = [key for key in keys if key[2] != "predicted"] + [("", "var(--faint)", "predicted")]
    marks, at, rows = [], 8.0, 1
    for kind, colour, name in keys:
        shape = ('<circle class="dot" r="4" cx="6" cy="-4"/>' if kind == "points" else
                 '<rect width="12" height="10" y="-9" fill="var(--c)"/>' if kind == "area" else
                 '<rect width="12" height="10" y="-9" fill="var(--ice)"/>'
                 '<path d="M0 -5 4 -9h3L0 -2zM2 1 12 -9v3L5 1z" fill="var(--c)"/>' if kind == "hatch" else
                 '<rect width="12" height="3" y="-5" rx="1.5" fill="var(--c)"/>')
        step = 30 + 6.1 * len(name)
        if at > 8 and at + step > width:
            at, rows = 8.0, rows + 1
        marks.append(f'<g transform="translate({at:.0f} {TITLE - 8 + rows * ROW})" style="--c: {colour}">{shape}'
                     f'<text x="17" class="key">{html.escape(name)}</text></g>')
        at += step
    return "".join(marks), TITLE + rows * ROW


def picture(figure, style):
    chart = re.search(r"<svg[^>]*viewBox=\"0 0 ([\d.]+) ([\d.]+)\"[^>]*>(.*?)</svg>", figure, re.S)
    title = re.search(r"<h2>(.*?)</h2>", figure).group(1)
    width, height = float(chart[1]), float(chart[2])
    key, band = key_of(figure, width)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height + band:g}" width="{width:g}" role="img" '
            f'aria-label="{title}">\n<style>\n{style}\ntext.title {{ fill: var(--ink); font-size: 13px; font-weight: 600; }}\n'
            f'text.key {{ fill: var(--soft); }}\n</style>\n'
            f'<rect width="100%" height="100%" rx="8" fill="var(--card)"/>\n<text class="title" x="8" y="16">{title}</text>\n'
            f'{key}\n<g transform="translate(0 {band})">\n{chart[3]}\n</g>\n</svg>\n')


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    page, prefix, titles = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    document = drawn(page)
    figures = [part for part in re.findall(r"<figure.*?</figure>", document, re.S) if "viewBox" in part]
    by_title = {html.unescape(re.search(r"<h2>(.*?)</h2>", part).group(1)): part for part in figures}
    missing = [title for title in titles if title not in by_title]
    if missing:
        sys.exit(f"page_pictures: {page} has no chart '{missing[0]}'; it has: {'; '.join(by_title)}.")
    style = style_of(document)
    for number, title in enumerate(titles or by_title, 1):
        file = pathlib.Path(f"{prefix}-{number}.svg")
        file.write_text(picture(by_title[title], style))
        print(f"{file}  {title}")


if __name__ == "__main__":
    main()
