"""damage.py ARCHIVE CHUNK...: change a byte near the end of these chunks of a new archive in any format."""
import json
import os
import subprocess
import sys

archive = sys.argv[1]
listing = subprocess.run([os.environ["BPK"], "info", "-vv", "--json", archive], capture_output=True, check=True)
info = json.loads(listing.stdout)
for number in map(int, sys.argv[2:]):
    chunk = info["chunks"][number]
    path, at = archive, chunk["offset"]
    if info["format"] == "b2sparse":
        path, at = f"{archive}/{number:08X}.chunk", 0
    elif info["format"] == "chunked":
        # a new dataset of few chunks has them in one file
        path = f"{archive}/data/" + min(os.listdir(f"{archive}/data"))
    with open(path, "r+b") as file:
        file.seek(at + chunk["packed_size"] - 3)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 0x55]))
