#!/usr/bin/env python3
"""containerfile.py FILE CONTEXT BASE OUT: a Containerfile's steps, without a container engine.

Knows FROM, COPY, RUN with a list of words, and USER; refuses all else. The image that is pulled is the root file
system BASE, which stays as it is: a step can write beside its folders only. OUT becomes the root of the last stage;
the user of the image is printed.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# In a mount namespace of its own: the base's folders, read-only, beside what the stage has by now.
ENTER = '''
base=$1 root=$2
shift 2
for entry in "$base"/*; do
  at=$root/${entry##*/}
  if [ -L "$entry" ]; then
    cp -P "$entry" "$at"
  elif [ -d "$entry" ]; then
    mkdir -p "$at"
    mount --bind "$entry" "$at"
    mount -o remount,bind,ro "$at"
  fi
done
mount -t proc none "$root/proc"
exec chroot "$root" "$@"
'''


class Refused(Exception):
    pass


def steps(text):
    """[(line number, instruction, rest)]"""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith('#'):
            word, _, rest = line.partition(' ')
            yield number, word, rest.strip()


class Build:
    def __init__(self, context, base, folder):
        self.context, self.base, self.folder = context, base, folder
        self.stages, self.named, self.user = [], {}, '0'

    def start(self, rest):
        match = re.fullmatch(r'(\S+)(?: AS (\S+))?', rest)
        if not match:
            raise Refused('FROM IMAGE [AS NAME]')
        stage = pathlib.Path(self.folder, str(len(self.stages)))
        stage.mkdir()
        self.stages.append((stage, match[1] == 'scratch'))
        self.named[match[2]] = stage
        self.user = '0'

    def copy(self, rest):
        match = re.fullmatch(r'(?:--from=(\S+) )?(\S+) (/\S*)', rest)
        if not match or match[1] not in (None, *self.named):
            raise Refused('COPY [--from=STAGE] SOURCE /TARGET')
        source = pathlib.Path(self.named[match[1]] if match[1] else self.context, match[2].lstrip('/'))
        target = pathlib.Path(self.stages[-1][0], match[3].strip('/'))
        if not source.is_dir():
            raise Refused(f'{match[2]} is no folder there')
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)

    def run(self, rest):
        stage, is_empty = self.stages[-1]
        words = json.loads(rest)  # the form with a shell is refused: images may have none
        if is_empty:
            raise Refused('RUN: nothing is in the image that could run')
        subprocess.run(['unshare', '-m', 'sh', '-ec', ENTER, 'sh', self.base, stage, *words], check=True)

    def take(self, word, rest):
        if word == 'FROM':
            self.start(rest)
        elif not self.stages:
            raise Refused('FROM comes first')
        elif word == 'COPY':
            self.copy(rest)
        elif word == 'RUN':
            self.run(rest)
        elif word == 'USER' and re.fullmatch(r'\d+:\d+', rest):
            self.user = rest
        else:
            raise Refused('is not known here')


def main():
    file, context, base, out = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(out))) as folder:
        build = Build(context, base, folder)
        for number, word, rest in steps(pathlib.Path(file).read_text(encoding='utf-8')):
            try:
                build.take(word, rest)
            except (Refused, ValueError, subprocess.CalledProcessError) as e:
                sys.exit(f'{file}:{number}: {word} {rest}: {e}')
        if build.stages[-1][1]:
            shutil.rmtree(out, ignore_errors=True)
            shutil.move(build.stages[-1][0], out)
            print(build.user)
        else:
            sys.exit(f'{file}: the last stage is not FROM scratch: its base is not copied')


if __name__ == '__main__':
    main()
