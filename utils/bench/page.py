"""Shows a comparison: as a table on the terminal and as a page with bars."""
import html

STYLE = """
:root { color-scheme: light dark; --ours: #2f7d4f; --theirs: #8a8f98; --line: #8883; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1.5rem 0; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
.scroll { overflow-x: auto; }
.bars { display: grid; grid-template-columns: 11rem 1fr; gap: .2rem .8rem; align-items: center; }
.bar { height: 1.1rem; border-radius: 2px; white-space: nowrap; font-size: .8rem; line-height: 1.1rem; }
.bar span { padding-left: .4rem; position: relative; left: 100%; }
.ours { background: var(--ours); } .theirs { background: var(--theirs); margin-bottom: .5rem; }
"""


def print_table(lines):
    """Prints lines of cells in columns: the first to the left, the others to the right."""
    widths = [max(len(line[i]) for line in lines if len(line) > i and (i != 2 or line[1] != "-"))
              for i in range(len(lines[0]))]
    for line in lines:
        if line[1] == "-":
            print(f"{line[0]:{widths[0]}}  {line[2]}")
        else:
            print("  ".join([f"{line[0]:{widths[0]}}"] + [f"{c:>{w}}" for c, w in zip(line[1:], widths[1:])]))


def bars(rows):
    """Yields two bars for each model and number of threads, in proportion to the slower of the two."""
    for row in rows:
        for threads, sides in row["threads"].items():
            slowest = max(s["min_ms"] for s in sides.values())
            yield f"<div>{html.escape(row['name'])}, {threads} thread{'s' if threads > 1 else ''}</div><div>"
            for side, label in (("ours", "onnx-aot"), ("theirs", row.get("peer", "onnxruntime"))):
                milliseconds = sides[side]["min_ms"]
                yield (f'<div class="bar {side}" style="width:{70 * milliseconds / slowest:.1f}%">'
                       f"<span>{label} {milliseconds:.2f} ms</span></div>")
            yield "</div>"


def render(lines, rows, bench):
    """Returns the page."""
    cells = ["<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in line) + "</tr>"
             for tag, line in [("th", lines[0])] + [("td", line) for line in lines[1:]]]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>onnx-aot and its peers</title><style>{STYLE}</style></head>
<body><h1>onnx-aot and its peers</h1>
<p>Minimum of interleaved rounds in one run; shorter is better. One core's peak in this run:
{bench.gflops:.0f} GFLOP/s, {bench.gbytes:.0f} GB/s.</p>
<div class="bars">{''.join(bars(rows))}</div>
<div class="scroll"><table>{''.join(cells)}</table></div>
<p>ratio: ours to theirs, of the minima and of the medians. of limit: the time that the FMA peak allows for the
model's multiply-adds, in percent of ours (a convolution algorithm with fewer of them can pass 100). start: load
and first run. RSS: peak resident memory of the process (theirs with Python).</p></body></html>
"""
