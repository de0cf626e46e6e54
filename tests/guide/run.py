#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the guide shows in shells is so: each ```sh block is run, a page at a time, in a folder that holds `data` and the C
programs of the page (saved as `NAME`), and where a block without a language follows it, that is its output. Figures of times,
rates, memory, threads and instruction sets may differ.

    tests/guide/run.py --command build/metapack --include include [PAGE ...]"""
import argparse, glob, os, re, subprocess, sys, tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
# What another machine, or another run, has otherwise.
LOOSE = [(re.compile(r"^(Time|Memory)  .*$", re.M), r"\1"), (re.compile(r"cpu-\w+, \d+ threads?"), "cpu"),
         (re.compile(r"at [\d.]+ [kMGT]?FLOP/s"), "rate"), (re.compile(r", [\d.]+ [kMG]?B, [\d.]+ [mu]?s$", re.M), ", size, time"),
         (re.compile(r"\d\.\d+e-(0[5-9]|1\d)"), "small"), (re.compile(r"small in \d+"), "small in some")]
SKIP = re.compile(r"make |pip |git |sudo |my-program|casadi|venv")  # what a test cannot do to a machine


def loosened(text):
    for pattern, word in LOOSE:
        text = pattern.sub(word, text)
    return text.rstrip()


def page(path, environment):
    """Messages on what is not so."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    blocks, wrong = list(BLOCK.finditer(text)), []
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(ROOT, "data"), os.path.join(folder, "data"))
        for k, block in enumerate(blocks):
            language, body = block[1], block[2]
            if language == "c":
                named = re.findall(r"aved as `([\w.]+)`", text[:block.start()])
                if named:
                    with open(os.path.join(folder, named[-1]), "w", encoding="utf-8") as file:
                        file.write(body)
            if language != "sh" or SKIP.search(body):
                continue
            done = subprocess.run(["sh", "-c", body], cwd=folder, env=environment, text=True, timeout=100,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            after = blocks[k + 1] if k + 1 < len(blocks) else None
            if after and not after[1] and not text[block.end():after.start()].strip():
                if loosened(done.stdout) != loosened(after[2]):
                    wrong.append(f"{path}: this\n{body}prints\n{done.stdout}and not\n{after[2]}")
            elif done.returncode:
                wrong.append(f"{path}: this\n{body}ends with {done.returncode}:\n{done.stdout}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True, help="metapack, with its library and metapack-uninstalled.pc beside it")
    parser.add_argument("pages", nargs="*", default=sorted(glob.glob(os.path.join(ROOT, "docs/guide/*.md"))))
    given = parser.parse_args()
    build = os.path.dirname(os.path.abspath(given.command))
    environment = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}", PKG_CONFIG_PATH=build, OMP_NUM_THREADS="2",
                       LC_ALL="C.UTF-8")
    wrong = [message for path in given.pages for message in page(path, environment)]
    print("\n".join(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
